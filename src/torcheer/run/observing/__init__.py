"""What a training hands over: checked and copied at once, encoded in the writer's thread."""
