"""Names of things: prefixed, ordered by time, not to be guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
ENTROPY: Final = 10
"""Bytes of randomness in the name of a task or node: 80 bits."""
_STEP: Final = 7


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

    The first is as random as any, and so is every step: seven bytes of it cannot be guessed either.
    """
    milliseconds = max(0, microseconds(at) // 1000)
    number = int.from_bytes(entropy(ENTROPY)) >> 1
    while True:
        yield f"{prefix}_{milliseconds:012x}{number:020x}"
        number += 1 + int.from_bytes(entropy(_STEP))


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
