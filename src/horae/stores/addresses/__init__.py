"""Addresses of database servers: several hosts, the choice among them, and the form without a password."""
