"""Wire shapes, each declared once as a JSON Schema in Python; see `horae.wire.schemas`."""
