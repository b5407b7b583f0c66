"""Input of one run: replacement or merge of the payload, and placeholders."""
