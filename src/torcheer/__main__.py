"""`python -m torcheer`, for where the script is not on the path."""

from torcheer.cli import main

main()
