"""Every statement of the registry against a truth that shares no formula with it."""
