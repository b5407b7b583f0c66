"""What it costs to look: overview, lists and commands on files of three sizes."""
