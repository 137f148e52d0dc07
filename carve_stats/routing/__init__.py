"""Routing: which questions to defer to a fallback, what that is worth, and as a function of k."""
