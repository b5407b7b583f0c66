"""Names of things: prefixed, ordered by time, not to be guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import takewhile
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
ENTROPY: Final = 10
"""Bytes of randomness in the name of a task or node: 80 bits."""
_STEP: Final = 9
_RANDOM: Final = 1 << (8 * ENTROPY)
_WHOLE: Final = 12 + 2 * ENTROPY
"""Digits of an id behind its kind: twelve of milliseconds, then the randomness."""
MOMENT_DIGITS: Final = 12
"""Shown of a node, token or webhook: its milliseconds."""
_DIGITS: Final = frozenset("0123456789abcdef")
LEAST_DIGITS: Final = 8
"""A prefix has at least so many digits: it spans a minute, and a lookup reads a small range of an index."""
SHORT_DIGITS: Final = 16
"""Shown of a run: its milliseconds and 16 random bits, so that a retry or a task of the same instant is told apart."""
SHORT_TASK_DIGITS: Final = 18
"""Shown of a task: tasks that are made in bulk share their milliseconds and lie closer together (`rising`)."""


def microseconds(instant: datetime) -> int:
    """An instant as a whole number: what stores keep, exact in both directions."""
    elapsed = instant - EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def instant(number: int) -> datetime:
    return EPOCH + timedelta(microseconds=number)


def named(prefix: str, at: datetime, entropy: bytes) -> str:
    """`tsk_0199f3…`: twelve digits of milliseconds, then the randomness that was given."""
    return f"{prefix}_{max(0, microseconds(at) // 1000):012x}{entropy.hex()}"


def rising(prefix: str, at: datetime, entropy: Callable[[int], bytes]) -> Iterator[str]:
    """Names for many things of one instant, each after the one before: in a store, neighbours are written together.

    The first is as random as any, and so is every step: nine bytes of it cannot be guessed either. The steps are large,
    so that a short prefix tells two neighbours apart; when the randomness is used up, the next millisecond follows.
    """
    milliseconds = max(0, microseconds(at) // 1000)
    number = int.from_bytes(entropy(ENTROPY)) >> 1
    while True:
        yield f"{prefix}_{milliseconds:012x}{number:020x}"
        number += 1 + int.from_bytes(entropy(_STEP))
        if number >= _RANDOM:
            milliseconds += 1
            number = int.from_bytes(entropy(ENTROPY)) >> 1


def is_shortened(kind: str, text: object) -> bool:
    """Whether a text can be the beginning of an id of this kind, and is not a whole one."""
    if not isinstance(text, str):
        return False
    digits = text.removeprefix(f"{kind}_")
    return digits != text and LEAST_DIGITS <= len(digits) < _WHOLE and set(digits) <= _DIGITS


def short_ids(ids: Iterable[str], digits: int = MOMENT_DIGITS) -> dict[str, str]:
    """The shortest prefix of each id that no other of these ids has, with at least so many digits behind its kind."""
    found: dict[str, str] = {}
    ordered = sorted(set(ids))
    before = 0
    for each, following in zip(ordered, [*ordered[1:], ""], strict=False):
        after = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(each, following, strict=False)))
        least = each.find("_") + 1 + digits
        found[each] = each[: max(least, before + 1, after + 1)]
        before = after
    return found


def run_id(task_id: str, origin: str, planned: datetime, attempt: int) -> str:
    """A run's name is its identity: the same attempt at the same occurrence can never be written twice.

    It cannot be guessed by whom does not know the task's own name, and it orders by planned instant.
    """
    number = microseconds(planned)
    digest = blake2b(f"{task_id}/{origin}/{number}/{attempt}".encode(), digest_size=ENTROPY).hexdigest()
    # The old way of formatting takes half as long, and every run is named here.
    return "run_%012x%s" % (number // 1000 if number > 0 else 0, digest)  # noqa: UP031


def occurrence_key(task_id: str, origin: str, planned: datetime) -> str:
    """The idempotency key: the same for every attempt at one occurrence, and for no other occurrence."""
    digest = blake2b(f"{task_id}/{origin}/{microseconds(planned)}".encode(), digest_size=16)
    return f"occ_{digest.hexdigest()}"


def share_of(name: str) -> float:
    """A number in [0, 1) that belongs to a name: chance that a replay repeats."""
    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest()) / 2**48
