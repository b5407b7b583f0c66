"""Web console: server-rendered pages over the service, with sessions, forms and live fragments.

app           the routes, and the composition of the console     viewer      language, zone, theme and rights of a request
request       cookies, forms, CSRF and Origin checks             rendering   Jinja2 environment and page responses
formats       instants, durations and lateness as text           charts      geometry of the SVG charts
messages      every text in English and Chinese                  pages/      one module per page: data of its template
"""
