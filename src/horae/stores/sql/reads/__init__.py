"""Reads of the SQL stores: lists, pages, the ledger and the status."""
