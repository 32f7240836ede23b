"""The other process: it empties the ring, computes, raises alarms, and writes the run. It needs no torch."""
