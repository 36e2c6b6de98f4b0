"""What answers by vote cost: noisy argmaxes of the votes of teachers, agents or their neighbours."""
