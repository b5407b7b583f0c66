"""Horae on PostgreSQL and its peers: throughput, lateness, a million future tasks, idle cost, growth."""
