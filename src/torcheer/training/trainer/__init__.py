"""`tl.fit`: the training cycle, its callbacks, history and steps."""
