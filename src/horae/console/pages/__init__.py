"""Pages of the console: each module loads the data of one page from the service and names its template."""
