"""Deferral for real: the deferred questions are put to a second agent, and become outcomes."""
