"""Pages of runs: list, one run and its log."""
