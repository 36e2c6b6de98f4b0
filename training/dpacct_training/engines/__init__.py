"""Engines: where the clients' training runs. Algorithms do not know of them."""
