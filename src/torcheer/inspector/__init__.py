"""A training watched from another process: hooks, a ring of shared memory, and a child that looks."""
