"""A run as programs and the server read it, while it is written or after."""
