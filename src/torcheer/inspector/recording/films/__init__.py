"""Frames as files: MP4, GIF, PNG; each can be looked at whenever the process that writes it ends."""
