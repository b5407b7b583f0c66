"""Use cases shared by all front ends; each call receives the principal that makes it."""
