"""Which budget a goal needs, when a question may stop, and what a running probe shows."""
