"""The command line and the terminal screens of attn-tui."""
