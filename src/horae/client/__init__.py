"""Client of a Horae server: the service's methods over HTTP, with the same names, values and errors as the service.

connection   HTTP requests to one server with one token   problems   problem documents to exceptions
service      all use cases of a server                    decode     JSON answers to values; reads pages
"""
