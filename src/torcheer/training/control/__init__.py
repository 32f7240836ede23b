"""A training in a process of its own, stepped from elsewhere."""
