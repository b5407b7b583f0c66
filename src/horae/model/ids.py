"""Ids: prefixed, sortable by time and not guessable; the instants that they encode; idempotency keys and trace ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .run import Origin, Run

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
ENTROPY_BYTES: Final = 10
"""Random bytes in the id of a task or node: 80 bits."""
_STEP_BYTES: Final = 9
_RANDOM_RANGE: Final = 1 << (8 * ENTROPY_BYTES)
_ID_DIGITS: Final = 12 + 2 * ENTROPY_BYTES
"""Digits of an id after its kind: twelve of milliseconds, then the random part."""
TIMESTAMP_DIGITS: Final = 12
"""Digits shown of the id of a node, token or webhook: its milliseconds."""
_DIGITS: Final = frozenset("0123456789abcdef")
MIN_PREFIX_DIGITS: Final = 8
"""Minimum digits of an id prefix: it spans a minute, so a lookup reads a small range of an index."""
SHORT_DIGITS: Final = 16
"""Digits shown of a run id: its milliseconds and 16 random bits, which tell retries and tasks of one instant apart."""
SHORT_TASK_DIGITS: Final = 18
"""Digits shown of a task id: tasks created in bulk share their milliseconds and have ids closer together (`ascending_ids`)."""


def to_microseconds(instant: datetime) -> int:
    """Return the microseconds since 1970, the form in which stores keep instants; `from_microseconds` is the exact inverse."""
    elapsed = instant - EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def from_microseconds(number: int) -> datetime:
    return EPOCH + timedelta(microseconds=number)


def make_id(prefix: str, at: datetime, entropy: bytes) -> str:
    """Return an id such as `tsk_0199f3…`: twelve digits of milliseconds, then the random bytes."""
    return f"{prefix}_{max(0, to_microseconds(at) // 1000):012x}{entropy.hex()}"


def ascending_ids(prefix: str, at: datetime, entropy: Callable[[int], bytes]) -> Iterator[str]:
    """Yield ascending ids for one instant, so that a bulk insert writes neighbouring index pages.

    The first id is random, and every step adds nine random bytes, so that no id can be guessed. The steps are large,
    so that a short prefix tells two neighbours apart; when the random part overflows, the next millisecond is used.
    """
    milliseconds = max(0, to_microseconds(at) // 1000)
    number = int.from_bytes(entropy(ENTROPY_BYTES)) >> 1
    while True:
        yield f"{prefix}_{milliseconds:012x}{number:020x}"
        number += 1 + int.from_bytes(entropy(_STEP_BYTES))
        if number >= _RANDOM_RANGE:
            milliseconds += 1
            number = int.from_bytes(entropy(ENTROPY_BYTES)) >> 1


def is_id_prefix(kind: str, text: object) -> bool:
    """Return whether a text is a proper prefix of an id of this kind."""
    if not isinstance(text, str):
        return False
    digits = text.removeprefix(f"{kind}_")
    return digits != text and MIN_PREFIX_DIGITS <= len(digits) < _ID_DIGITS and set(digits) <= _DIGITS


def short_ids(ids: Iterable[str], digits: int = TIMESTAMP_DIGITS) -> dict[str, str]:
    """Return the shortest unique prefix of each id among `ids`, with at least `digits` digits after its kind."""
    prefixes: dict[str, str] = {}
    ordered = sorted(set(ids))
    shared_before = 0
    for each, following in zip(ordered, [*ordered[1:], ""], strict=False):
        shared_after = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(each, following, strict=False)))
        least = each.find("_") + 1 + digits
        prefixes[each] = each[: max(least, shared_before + 1, shared_after + 1)]
        shared_before = shared_after
    return prefixes


def run_id(task_id: str, origin: str, planned: datetime, attempt: int) -> str:
    """Return the id of a run, derived from its identity: one attempt at one occurrence cannot be inserted twice.

    It cannot be guessed without the task id, and it sorts by planned instant.
    """
    number = to_microseconds(planned)
    digest = blake2b(f"{task_id}/{origin}/{number}/{attempt}".encode(), digest_size=ENTROPY_BYTES).hexdigest()
    # %-formatting takes half as long as an f-string here, and every run calls this.
    return "run_%012x%s" % (number // 1000 if number > 0 else 0, digest)  # noqa: UP031


def occurrence_key(task_id: str, origin: str, planned: datetime) -> str:
    """Return the idempotency key of an occurrence: the same for all its attempts, and unique to it."""
    digest = blake2b(f"{task_id}/{origin}/{to_microseconds(planned)}".encode(), digest_size=16)
    return f"occ_{digest.hexdigest()}"


def hash_fraction(name: str) -> float:
    """Hash a name to a number in [0, 1): pseudo-random jitter that a replay repeats."""
    return int.from_bytes(blake2b(name.encode(), digest_size=6).digest()) / 2**48


_RUN_PREFIX: Final = "run_"
_EARLIEST: Final = -(2**63)
_LATEST: Final = 2**63 - 1


def planned_range_of_prefix(prefix: str) -> tuple[int, int] | None:
    """Return the range of planned instants (microseconds) of ids with this prefix; None if no id can have it.

    A lookup uses the index on planned instants with it. An index on all ids would write a separate page for every run of a
    burst, because ids end in random digits.
    """
    digits = prefix[len(_RUN_PREFIX) : len(_RUN_PREFIX) + TIMESTAMP_DIGITS]
    if not prefix.startswith(_RUN_PREFIX) or not set(digits) <= _DIGITS:
        return None
    start, end = (
        int(digits.ljust(TIMESTAMP_DIGITS, "0"), 16) * 1000,
        int(digits.ljust(TIMESTAMP_DIGITS, "f"), 16) * 1000 + 999,
    )
    return (start or _EARLIEST), min(end, _LATEST)


def planned_range_of_id(run_id: str) -> tuple[int, int] | None:
    """Return the millisecond that a run id encodes as a range of microseconds; None if it encodes none.

    Ids of runs planned before 1970 encode zero, so its range starts at the earliest instant.
    """
    digits = run_id[len(_RUN_PREFIX) : len(_RUN_PREFIX) + TIMESTAMP_DIGITS]
    if not run_id.startswith(_RUN_PREFIX) or len(digits) < TIMESTAMP_DIGITS or not set(digits) <= _DIGITS:
        return None
    start = int(digits, 16) * 1000
    return (start or _EARLIEST), start + 999


def trace_id(run: Run) -> str:
    """Return the trace id, shared by all attempts at an occurrence and by all runs of its chain.

    The W3C trace context follows from the identity of a run, so that it is neither stored nor passed on.
    """
    return _derive_trace_id(*run.root)


def traceparent(run: Run) -> str:
    """Return the `traceparent` header; each attempt is a span of its own."""
    return _format_traceparent(_derive_trace_id(*run.root), run.id)


def first_traceparent(task_id: str, origin: Origin, planned: datetime) -> str:
    """Return the `traceparent` of the first attempt, before the run exists."""
    return _format_traceparent(_derive_trace_id(task_id, origin, planned), run_id(task_id, origin, planned, 1))


def _derive_trace_id(task_id: str, origin: Origin, planned: datetime) -> str:
    return occurrence_key(task_id, origin, planned).removeprefix("occ_")


def _format_traceparent(trace: str, run: str) -> str:
    return f"00-{trace}-{blake2b(run.encode(), digest_size=8).hexdigest()}-01"
