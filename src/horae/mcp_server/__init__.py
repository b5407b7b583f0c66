"""Horae for assistants: tools over the Model Context Protocol, on standard input and output or over HTTP."""
