"""Measurements on a real pseudo-terminal, next to the floor of a bare Textual app."""
