"""What was carried, as a count and one number: the same for two stores exactly when they hold the same."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ..model.ids import microseconds
from ..model.policy import Policies
from ..model.policy import to_json as policies_to_json
from ..model.run import Span
from ..ports.transfer import Moving, Parcel, Part, Remembered
from ..schedule import Schedule
from ..schedule import to_json as schedule_to_json
from .progress import MARK

PAGE: Final = 500
_BYTES: Final = 16
_MICROSECOND: Final = timedelta(microseconds=1)


class Carried(NamedTuple):
    """`digest` is a sum over all parcels: whichever way a store orders them, equal parcels add up to the same.

    Only of tasks the order is part of what they are, so each one is counted in with its place.
    """

    parcels: int = 0
    digest: int = 0

    def with_more(self, part: Part, parcels: Iterable[Parcel]) -> Carried:
        number, digest = self
        for parcel in parcels:
            number += 1
            digest += _number(encoded((number, parcel) if part is Part.TASKS else parcel))
        return Carried(number, digest % 2 ** (8 * _BYTES))

    @property
    def text(self) -> str:
        return f"{self.digest:0{2 * _BYTES}x}"


async def weigh(store: Moving, part: Part, told: Callable[[int], None] = lambda _number: None) -> Carried:
    """All of one part; `told` hears of each page how many parcels it had."""
    carried = Carried()
    async for parcels, _ in pages(store, part):
        carried = carried.with_more(part, parcels)
        told(len(parcels))
    return carried


async def pages(
    store: Moving, part: Part, after: str | None = None
) -> AsyncIterator[tuple[tuple[Parcel, ...], str | None]]:
    """Page after page, each with the place from which the next one goes on. What a move notes in its target stays there."""
    while True:
        page = await store.carry_out(part, after, PAGE)
        yield tuple(each for each in page.items if not _is_our_own(each)), page.after
        after = page.after
        if after is None:
            return


def _is_our_own(parcel: Parcel) -> bool:
    return isinstance(parcel, Remembered) and parcel.name == MARK


def _number(text: str) -> int:
    # What is no character cannot be kept on every server; there, the sign for one that is not known stands for it.
    return int.from_bytes(blake2b(text.replace("\\u0000", "\\ufffd").encode(), digest_size=_BYTES).digest())


def _plain(value: object) -> Any:
    """What JSON has no word for."""
    match value:
        case datetime():
            return microseconds(value)
        case timedelta():
            return value // _MICROSECOND
        case Span(first=first, last=last, count=count):
            return [first, last, count]
        case Schedule():
            return _schedule(value)
        case Policies():
            return _policies(value)
        case frozenset():
            return sorted(value)
    raise TypeError(f"a {type(value).__name__} cannot be carried")


# Most tasks share a few of them.
_schedule: Final = lru_cache(1_024)(schedule_to_json)
_policies: Final = lru_cache(1_024)(policies_to_json)
encoded: Final[Callable[[Any], str]] = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode
"""One way to write a parcel down, whatever store it comes from."""
