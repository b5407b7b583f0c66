"""JSON wire format: one encoder, decoder and JSON Schema per shape, shared by the CLI, files, HTTP and MCP."""
