"""Agents, one a file: real, synthetic and scripted ones side by side."""
