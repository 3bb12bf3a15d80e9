"""The commands of the command line, each imported when it is asked for."""
