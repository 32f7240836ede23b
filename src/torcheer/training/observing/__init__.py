"""What is recorded of a training whose loop is not ours: what is watched, and looks at its model."""
