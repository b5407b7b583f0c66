"""Benchmarks: Horae and its peers in one run, and the cost of each part of schedule evaluation."""
