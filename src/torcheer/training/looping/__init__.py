"""What the loop that a person can step is made of: what a trial does, what a test does, and what is kept."""
