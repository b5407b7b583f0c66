"""Adapters of the channel port: one module for each chat service."""
