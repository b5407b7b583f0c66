"""Checks of texts: invisible characters, plain text, patterns of sentences, fields."""
