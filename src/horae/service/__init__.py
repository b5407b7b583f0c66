"""The use cases, once for every front end. Each call knows who is asking, and never how."""
