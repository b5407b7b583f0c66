"""HTTP target: sends a request to an endpoint and maps its response to the outcome of the run."""
