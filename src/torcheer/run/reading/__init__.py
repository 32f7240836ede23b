"""Runs as they are read: while they are written, after they ended, and after they were cut off."""
