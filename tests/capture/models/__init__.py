"""Small models, one difficulty each, with their graphs as a person would draw them."""
