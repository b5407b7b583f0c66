"""A database that holds all tasks of a measurement before the first is due."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.engine import child, work
from tests.servers.postgres import PostgresServer

_ADDED_EACH_SECOND: Final = 3_000
"""Far less than a quiet machine does, so that all are there in time."""
_TO_SPARE: Final = 0.6
"""Share of the lead that nodes need to be there as well."""


def prepared(
    server: PostgresServer, add: Callable[..., float], rate: float, many: int, lead: float
) -> tuple[str, float]:
    """Its address, and the instant of the first. On a busy machine it is tried again, with twice the time."""
    patience = lead + many / _ADDED_EACH_SECOND
    while True:
        url = server.new_database()
        first = work.now().timestamp() + patience
        if child.run(add, url=url, first=first, rate=rate, many=many) > _TO_SPARE * lead:
            return url, first
        server.drop_database(url)
        patience *= 2
