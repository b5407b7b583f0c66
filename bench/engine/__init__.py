"""The engine, measured whole: throughput, lateness, size, idleness; beside its peers, and beside a bare commit."""
