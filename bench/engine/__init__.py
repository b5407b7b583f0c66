"""The engine as a whole: throughput, lateness, size and idle cost, compared with peers and a bare commit."""
