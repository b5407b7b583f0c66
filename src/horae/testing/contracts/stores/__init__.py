"""Contract suites of a store: claims, writes, reads, and the base class that opens the store for each test."""
