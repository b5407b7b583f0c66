"""Cost of the console: bytes of its pages, time to render them on large stores, open pages, and growth of a page."""
