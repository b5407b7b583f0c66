"""Parameters of the single-statement writes for folded decisions; None if the decisions have too little in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, Final

from ...model.counts import bucket_of_microseconds
from ...model.ids import to_microseconds
from ...model.task import TaskState
from ..codec.json_codecs import microseconds_of, replace_lone_surrogates
from ..codec.rows import names_planned_instant
from ..counter_deltas import HOUR_MICROSECONDS, CounterDeltas
from ..sql.folded_decisions import FoldedDecisions
from .arrays import encode_array, encode_columns

_SHARED: Final = (3, 6, 7, 9, 10, 11, 12)
"""Fields that are usually equal for all runs of a claim: origin, attempt, state, token, node, claimed and started."""

_FEW: Final = 16
"""Above this number, events with the same owner are stored as one batch row."""


def encode_starts(folded: FoldedDecisions, told: int) -> list[Any] | None:
    kept = folded.decisions
    if any(noted[2][5] for noted in kept):
        return None
    runs = list(zip(*[noted[2][2][0] for noted in kept], strict=True))
    ids, task_ids, owners, _, planned, due, *_ = runs
    shared = [runs[place] for place in _SHARED]
    if planned != due or any(column.count(column[0]) != len(kept) for column in shared):
        return None
    instants = _instants(planned)
    if not all(map(names_planned_instant, ids, instants)):
        return None
    tasks = [noted[0][0] for noted in kept]
    arrays = [encode_array(column) for column in (tasks, ids, owners, instants, task_ids)]
    *alike, claimed, started = [column[0] for column in shared]
    return [
        *arrays,
        *alike,
        microseconds_of[claimed],
        None if started is None else microseconds_of[started],
        told,
        _shared(owners),
    ]


def encode_few_starts(folded: FoldedDecisions) -> list[Any] | None:
    """Return the parameters of `claim_few`: also the expected versions, and the instants of the next occurrences."""
    kept = folded.decisions
    runs = list(zip(*[noted[2][2][0] for noted in kept], strict=True))
    ids, task_ids, owners, _, planned, due, *_ = runs
    shared = [runs[place] for place in _SHARED]
    instants = _instants(planned)
    if any(column.count(column[0]) != len(kept) for column in shared) or not all(
        map(names_planned_instant, ids, instants)
    ):
        return None
    known, entries = [noted[0] for noted in kept], [noted[1][0] for noted in kept]
    following = [noted[2][5][0] if noted[2][5] else None for noted in kept]
    *alike, claimed, started = [column[0] for column in shared]
    return [
        [each[0] for each in known],
        [each[1] for each in known],
        [entry[1] for entry in entries],
        _instants([entry[3] for entry in entries]),
        list(ids),
        list(owners),
        instants,
        list(task_ids),
        _instants(due),
        *alike,
        microseconds_of[claimed],
        None if started is None else microseconds_of[started],
        [None if entry is None else to_microseconds(entry[3]) for entry in following],
        [None if entry is None else to_microseconds(entry[4]) for entry in following],
    ]


def encode_successes(folded: FoldedDecisions, told: int) -> list[Any] | None:
    kept = folded.decisions
    runs = list(zip(*[noted[2][3][0] for noted in kept], strict=True))
    ids, task_ids, owners, planned, due, results = (runs[place] for place in (0, 1, 2, 4, 5, 22))
    if not all(map(names_planned_instant, ids, _instants(planned))):
        # A run whose id does not encode its planned instant is indexed separately in the ledger.
        return None
    started, ended = _instants(runs[12]), list(map(to_microseconds, runs[13]))
    standings = [noted[2][1] for noted in kept]
    over = [None if standing is None or standing[0] is TaskState.COMPLETED else 1 for standing in standings]
    spots = accumulate([len(noted[2][7]) for noted in kept[:-1]], initial=told)
    return [
        *map(encode_array, ([noted[0][0] for noted in kept], ids, task_ids, started, ended, list(spots))),
        _texts(results),
        _texts([None if standing is None else standing[5] for standing in standings]),
        _texts(over),
        *encode_columns(_counted(owners, _instants(due), started, ended, over)),
        told + sum([len(noted[2][7]) for noted in kept]),
        told,
        *_bundled(owners, over),
    ]


def _instants(found: Sequence[datetime]) -> list[int]:
    """Convert to microseconds; fast if all instants are equal, as for runs that came due or started together."""
    if found.count(found[0]) == len(found):
        return [to_microseconds(found[0])] * len(found)
    return list(map(to_microseconds, found))


def _shared(owners: Sequence[str]) -> str | None:
    """Return the common owner; None if owners differ, or for a few events, which are faster to read as single rows."""
    alike = len(owners) > _FEW and owners.count(owners[0]) == len(owners)
    return owners[0] if alike else None


def _bundled(owners: Sequence[str], over: list[int | None]) -> tuple[str | None, str | None]:
    """Return the event kinds of each run and the owner, for one batch row; None if they are not the same for all."""
    owner, completed = _shared(owners), over.count(None)
    if owner is None or completed not in (0, len(over)):
        return None, None
    return ("{run.succeeded,task.completed}" if completed else "{run.succeeded}"), owner


def _texts(values: Sequence[Any]) -> str | None:
    """Return an array literal; None if all values are None."""
    if values.count(None) == len(values):
        return None
    return encode_array([replace_lone_surrogates(value) if isinstance(value, str) else value for value in values])


def _counted(
    owners: Sequence[str], due: list[int], started: list[int], ended: list[int], over: list[int | None]
) -> list[tuple[Any, ...]]:
    counting = CounterDeltas()
    hours = [at // HOUR_MICROSECONDS for at in ended]
    for (owner, hour, began, was_due), number in Counter(zip(owners, hours, started, due, strict=True)).items():
        counting.succeeded[owner, hour, bucket_of_microseconds(began - was_due)] += number
    counting.completed.update([owner for owner, goes_on in zip(owners, over, strict=True) if goes_on is None])
    return counting.delta_rows()
