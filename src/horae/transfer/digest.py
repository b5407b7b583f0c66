"""Digest of a part of a store: row count and a checksum, equal for two stores exactly if they hold the same rows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ..model.ids import to_microseconds
from ..model.inputs.run_input import RunInput
from ..model.policy import Policies
from ..model.policy import to_json as policies_to_json
from ..model.run import Span
from ..ports.transfer import MetadataItem, Moving, Part, TransferItem
from ..schedule import Schedule
from ..schedule import to_json as schedule_to_json
from .move_progress import PROGRESS_KEY

PAGE_SIZE: Final = 500
_DIGEST_BYTES: Final = 16
_MICROSECOND: Final = timedelta(microseconds=1)


class PartDigest(NamedTuple):
    """Row count and checksum. `digest` is the sum of the hashes of all rows, so it does not depend on their order.

    Only the order of tasks matters: a task is hashed together with its position.
    """

    item_count: int = 0
    digest: int = 0

    def add_items(self, part: Part, items: Iterable[TransferItem]) -> PartDigest:
        number, digest = self
        for item in items:
            number += 1
            digest += _hash(encode_canonical((number, item) if part is Part.TASKS else item))
        return PartDigest(number, digest % 2 ** (8 * _DIGEST_BYTES))

    @property
    def hex_digest(self) -> str:
        return f"{self.digest:0{2 * _DIGEST_BYTES}x}"


def fingerprint(item: Any) -> int:
    """Hash one item, the same for every store that holds it."""
    return _hash(encode_canonical(item))


async def compute_digest(
    store: Moving, part: Part, on_page: Callable[[int], None] = lambda _row_count: None
) -> PartDigest:
    """Compute the digest of one part; `on_page` is called with the number of rows of each page."""
    part_digest = PartDigest()
    async for items, _ in read_pages(store, part):
        part_digest = part_digest.add_items(part, items)
        on_page(len(items))
    return part_digest


async def read_pages(
    store: Moving, part: Part, after: str | None = None
) -> AsyncIterator[tuple[tuple[TransferItem, ...], str | None]]:
    """Yield the pages of a part, each with the cursor of the next one (None: last page). Progress of a move is left out."""
    while True:
        page = await store.export_page(part, after, PAGE_SIZE)
        yield tuple(each for each in page.items if not _is_move_progress(each)), page.after
        after = page.after
        if after is None:
            return


def _is_move_progress(item: TransferItem) -> bool:
    return isinstance(item, MetadataItem) and item.name == PROGRESS_KEY


def _hash(text: str) -> int:
    # Database servers cannot store NUL: the stores replace it by U+FFFD, so both count as equal.
    return int.from_bytes(blake2b(text.replace("\\u0000", "\\ufffd").encode(), digest_size=_DIGEST_BYTES).digest())


def _to_json_value(value: object) -> Any:
    """Convert values that JSON cannot represent."""
    match value:
        case datetime():
            return to_microseconds(value)
        case timedelta():
            return value // _MICROSECOND
        case Span(first=first, last=last, count=count):
            return [first, last, count]
        case RunInput():
            return value.text
        case Schedule():
            return _schedule_json(value)
        case Policies():
            return _policies_json(value)
        case frozenset():
            return sorted(value)
    raise TypeError(f"a {type(value).__name__} cannot be carried")


# Cached: most tasks share a few schedules and policies.
_schedule_json: Final = lru_cache(1_024)(schedule_to_json)
_policies_json: Final = lru_cache(1_024)(policies_to_json)
encode_canonical: Final[Callable[[Any], str]] = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), default=_to_json_value
).encode
"""Canonical JSON of a row, independent of the store."""
