"""The service's methods over HTTP: what works at a file works at a server, and nobody who asks sees a difference.

connection   one server, one token: requests out, answers or exceptions in      problems   what a server refuses, as our own errors
service      all use cases of a server, as a front end holds them               pages      many small pages read as one
"""
