"""What a server says becomes values; what nobody here can read is told as what it is: another version, or no server of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from ..errors import Refusal
from ..model.page import Page
from .connection import Asked, Connection

T = TypeVar("T")
_LARGEST: Final = 200
"""So many a server tells at once."""


async def understood(connection: Connection, read: Callable[[Any], T], said: Any) -> T:
    try:
        return read(said)
    except (LookupError, TypeError, ValueError, AttributeError, Refusal) as error:
        # Also a refusal: what a server keeps was fit for it.
        raise await connection.misunderstood(f"{type(error).__name__}: {error}") from error


async def paged(
    connection: Connection,
    path: str,
    read: Callable[[Any], T],
    asked: Asked = (),
    after: str | None = None,
    limit: int = 100,
) -> Page[T]:
    """As many as are wanted, however many pages a server makes of them."""
    found: list[T] = []
    while True:
        turn = [*asked, ("limit", str(min(limit - len(found), _LARGEST)))]
        if after is not None:
            turn.append(("cursor", after))
        said = await connection.get(path, turn)
        items, after = await understood(connection, _items, said)
        found += [await understood(connection, read, each) for each in items]
        if after is None or len(found) >= limit or not items:
            return Page(tuple(found), after)


def _items(said: Any) -> tuple[list[Any], str | None]:
    return list(said["items"]), said["next_cursor"]
