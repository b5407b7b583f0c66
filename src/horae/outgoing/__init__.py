"""Outgoing HTTP with SSRF protection: one guarded client shared by http targets, webhooks and channels."""
