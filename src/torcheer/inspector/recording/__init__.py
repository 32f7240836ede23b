"""Videos of tensors over a training: each becomes a picture, tiles, a histogram or points, frame by frame."""
