"""Cost of reads: overview, lists and commands on files of three sizes."""
