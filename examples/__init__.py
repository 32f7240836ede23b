"""Small programs and models to try torcheer on."""
