"""A training: the cycle in one call or step by step, checkpoints, data, and the trainers of others."""
