"""Horae on PostgreSQL beside its peers: throughput, lateness, a million future tasks, idleness, growth."""
