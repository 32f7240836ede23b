"""From the queue of a run to the tables of its file."""
