"""Estimates and intervals from replay counts."""
