"""dpacct inside other libraries: one module for each, none imported before it is asked for."""
