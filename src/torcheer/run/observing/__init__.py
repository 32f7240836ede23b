"""What a training hands over: checked and copied at once, encoded in the thread of `run/encoder.py`."""
