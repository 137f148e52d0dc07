"""``python -m carve_stats``: the command, without its script."""

from carve_stats.cli.main import main

main()
