"""MCP server: Horae's tools for assistants over the Model Context Protocol, on standard input and output or over HTTP."""
