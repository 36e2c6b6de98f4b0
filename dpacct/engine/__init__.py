"""Numbers only: moment functions in, probabilities out. Nothing here imports another dpacct room."""
