"""TensorBoard's event files, read as a part of a run and written from one; and its SummaryWriter."""
