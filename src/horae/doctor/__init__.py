"""Checks of a deployment: machine, settings, store and database server; the command line, the API and the console show them."""
