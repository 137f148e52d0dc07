"""Routing rules, one file a rule; a rule returns propensities and never sees outcomes."""
