"""Delivery latency of events, and its effect on the engine."""
