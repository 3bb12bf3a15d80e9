"""Serving the explorer to others: a locked-down mode, and what carries it to their terminals."""
