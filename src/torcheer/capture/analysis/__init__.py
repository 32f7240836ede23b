"""Questions to the values of a pass: is it right, what is wrong with it, how does it differ from another."""
