"""Data sets: fetched with pinned hashes, imported from the user's files, or made up for tests."""
