"""Decoding of server responses: JSON to values, and several server pages to one page; an unreadable response is
reported as a version mismatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import Refusal
from ..model.accounts.principal import Principal
from ..model.accounts.system_owner import is_system_owner
from ..model.page import MAX_HTTP_PAGE_SIZE, Page
from .connection import Connection, QueryParameters

T = TypeVar("T")


async def decode_response(connection: Connection, read: Callable[[Any], T], response: Any) -> T:
    """Decode a response with `read`. Raises the connection's incompatibility error if the response is unreadable."""
    try:
        return read(response)
    except (LookupError, TypeError, ValueError, AttributeError, Refusal) as error:
        # A Refusal too: the server accepted this value, so only its version can differ.
        raise await connection.incompatibility_error(f"{type(error).__name__}: {error}") from error


async def fetch_page(
    connection: Connection,
    path: str,
    read: Callable[[Any], T],
    query: QueryParameters = (),
    after: str | None = None,
    limit: int = 100,
) -> Page[T]:
    """Return up to `limit` items, read in as many server pages as needed."""
    items_read: list[T] = []
    while True:
        page_query = [*query, ("limit", str(min(limit - len(items_read), MAX_HTTP_PAGE_SIZE)))]
        if after is not None:
            page_query.append(("cursor", after))
        response = await connection.get(path, page_query)
        items, after = await decode_response(connection, _read_page, response)
        items_read += [await decode_response(connection, read, each) for each in items]
        if after is None or len(items_read) >= limit or not items:
            return Page(tuple(items_read), after)


def system_parameter(principal: Principal) -> QueryParameters:
    """Return the parameter of a list of system tasks, for a reader of these."""
    return [("system", "true")] if is_system_owner(principal.owner) else []


def _read_page(response: Any) -> tuple[list[Any], str | None]:
    return list(response["items"]), response["next_cursor"]
