"""Values as a training hands them over: checked and copied at once, encoded in a thread of the writer."""
