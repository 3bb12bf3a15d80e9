"""The terminal: what it needs, what it sends, what it is sent, and how to leave it."""
