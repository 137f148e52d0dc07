"""Goals of a plan: each module is one kind, and `parsing` finds them."""
