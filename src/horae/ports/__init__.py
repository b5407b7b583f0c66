"""Protocols that the engine and the service need from stores, targets and other adapters."""
