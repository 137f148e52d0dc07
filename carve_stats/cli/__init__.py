"""The command line, one file a command; no statistics here."""
