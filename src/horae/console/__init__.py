"""Web console: server-rendered pages over the service, with sessions, forms and live fragments.

app           the routes, and the composition of the console     viewer      language, zone, theme and rights of a request
request       cookies, forms, CSRF and Origin checks             rendering   Jinja2 environment and page responses
formats       instants, durations and lateness as text           charts      geometry of the SVG charts
messages      every text in English and Chinese                  pages/      one module per page: data of its template

The package is also the public function `horae.console(...)`: Python binds an imported subpackage to the same name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Return the console as an ASGI application; see `horae.app.mounted_console.console`."""
        return import_module("horae.app.mounted_console").console(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
