"""Values of stations: who may join under which name, votes, and what joined stations report."""
