"""`tl.Loop`: a training that a person can stop, step, test and go on with."""
