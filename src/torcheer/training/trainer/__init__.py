"""`tl.fit`: its cycle, and what goes with each step and each epoch."""
