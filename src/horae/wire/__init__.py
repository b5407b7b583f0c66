"""The shapes that leave and enter the house as JSON, each said once: for the command line, files, HTTP and agents."""
