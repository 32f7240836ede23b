"""What is drawn of a tensor: a picture, tiles, a histogram, points; with scales that last."""
