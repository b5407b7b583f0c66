"""Notifiers: adapters that send messages to people."""
