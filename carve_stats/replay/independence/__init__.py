"""Whether replays are new draws: a canary before a run, a report after it, and the effective k."""
