"""Destroy operators, one a file."""
