"""What was observed over a training, on disk: written live, and read while it is written, without torch."""
