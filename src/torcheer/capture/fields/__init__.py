"""Which elements can reach which: receptive and projective fields."""
