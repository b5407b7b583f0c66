"""Failed runs grouped by the shape of their error, from a bounded number of the newest ones; and retry of a whole group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.page import MAX_PAGE_SIZE
from ...model.run import Run, RunState
from ...model.text.plain_text import first_line
from ...ports.store import RunFilter
from .runs import Runs

FAILED_STATES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
MAX_FAILURES: Final = 1_000
"""Failed runs that one grouping reads, newest first."""
MAX_RETRIES: Final = 500
"""Occurrences that one call retries; each costs a few reads and a write."""
_PATTERN_CHARACTERS: Final = 200
_ALL_RUNS: Final = RunFilter()
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’")
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s,;)]+", re.IGNORECASE)
_HEX: Final = re.compile(
    r"\b(?:0x[0-9a-f]+|(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*)\b", re.IGNORECASE
)
_ID: Final = re.compile(r"\b[a-z]{2,5}_[0-9a-f]{6,}\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")


class FailureGroup(NamedTuple):
    """Failed runs with errors of one shape, newest first. `key` identifies the shape in URLs and forms."""

    key: str
    pattern: str
    runs: tuple[Run, ...]

    @property
    def newest(self) -> Run:
        return self.runs[0]

    @property
    def task_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.task_id for run in self.runs))

    @property
    def occurrences(self) -> tuple[Run, ...]:
        """The newest failed attempt of each occurrence."""
        return newest_attempts(self.runs)

    @property
    def summary(self) -> FailureSummary:
        run_ids = tuple(run.id for run in self.occurrences)
        return FailureSummary(self.key, self.pattern, len(self.runs), self.newest, self.task_ids, run_ids)


class FailureSummary(NamedTuple):
    """A group without its runs, except the newest one. `run_ids` are the newest failed attempts of its occurrences."""

    key: str
    pattern: str
    number: int
    newest: Run
    task_ids: tuple[str, ...]
    run_ids: tuple[str, ...]


class FailureSummaries(NamedTuple):
    """The largest groups. `groups` is the number of all groups, `total` and `is_cut` as in `FailureGroups`."""

    items: tuple[FailureSummary, ...] = ()
    groups: int = 0
    total: int = 0
    is_cut: bool = False


class FailureGroups(NamedTuple):
    """Groups by size, largest first. `is_cut`: there are more failures than the `total` that were read."""

    groups: tuple[FailureGroup, ...] = ()
    total: int = 0
    is_cut: bool = False

    def find(self, key: str) -> FailureGroup | None:
        return next((group for group in self.groups if group.key == key), None)


class RefusedRetry(NamedTuple):
    run_id: str
    error: Refusal


class RetryReport(NamedTuple):
    """`retried` are run ids. `left` is the number of runs beyond those that one call retries."""

    retried: tuple[str, ...] = ()
    refused: tuple[RefusedRetry, ...] = ()
    left: int = 0


class Failures:
    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def groups(self, principal: Principal, run_filter: RunFilter = _ALL_RUNS) -> FailureGroups:
        """Group the newest failed runs of a filter, at most `MAX_FAILURES` of them."""
        principal.require_scope(Scope.READ)
        wanted = FAILED_STATES if run_filter.states is None else FAILED_STATES & run_filter.states
        if not wanted:
            return FailureGroups()
        found: list[Run] = []
        after: str | None = None
        while len(found) < MAX_FAILURES:
            page = await self._runs.page(principal, run_filter._replace(states=wanted), after, MAX_PAGE_SIZE)
            found += page.items
            after = page.after
            if after is None:
                break
        return FailureGroups(group_failures(found[:MAX_FAILURES]), min(len(found), MAX_FAILURES), after is not None)

    async def summaries(
        self, principal: Principal, run_filter: RunFilter = _ALL_RUNS, key: str | None = None, limit: int = 100
    ) -> FailureSummaries:
        """Summarise the largest groups of a filter; with `key`, those whose keys begin with it."""
        found = await self.groups(principal, run_filter)
        wanted = [group for group in found.groups if key is None or group.key.startswith(key)]
        return FailureSummaries(
            tuple(group.summary for group in wanted[:limit]), len(wanted), found.total, found.is_cut
        )

    async def retry(self, principal: Principal, run_ids: Iterable[str]) -> RetryReport:
        """Retry the occurrences of these runs; the refusal of one does not keep the others from it.

        An occurrence that has an attempt waiting gets no second one, so a call may be repeated.
        """
        principal.require_scope(Scope.RUN)
        wanted = tuple(dict.fromkeys(run_ids))
        retried: list[str] = []
        refused: list[RefusedRetry] = []
        for run_id in wanted[:MAX_RETRIES]:
            try:
                await self._runs.retry(principal, run_id)
                retried.append(run_id)
            except Refusal as error:
                refused.append(RefusedRetry(run_id, error))
        return RetryReport(tuple(retried), tuple(refused), max(0, len(wanted) - MAX_RETRIES))


def group_failures(runs: Iterable[Run]) -> tuple[FailureGroup, ...]:
    """Group runs by the shape of their error; groups of one size keep the order of their newest runs."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        members.setdefault(error_pattern(run), []).append(run)
    groups = [FailureGroup(pattern_key(pattern), pattern, tuple(found)) for pattern, found in members.items()]
    return tuple(sorted(groups, key=lambda group: -len(group.runs)))


def newest_attempts(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return the newest attempt among these runs of each occurrence, in the order in which the occurrences appear."""
    newest: dict[tuple[str, str, object], Run] = {}
    for run in runs:
        occurrence = (run.task_id, run.origin, run.planned)
        known = newest.get(occurrence)
        if known is None or known.attempt < run.attempt:
            newest[occurrence] = run
    return tuple(newest.values())


def error_pattern(run: Run) -> str:
    """Return the first line of the error without what differs from run to run; without an error, its reason or state."""
    line = first_line(run.error or "")
    if not line:
        return str(run.reason or run.state)
    return normalize_error(line)


def normalize_error(line: str) -> str:
    """Replace quoted values, addresses, ids, hexadecimal and decimal numbers by placeholders."""
    line = _QUOTED.sub("'…'", line)
    line = _URL.sub("URL", line)
    line = _ID.sub("ID", line)
    line = _HEX.sub("HEX", line)
    line = _NUMBER.sub("N", line)
    return " ".join(line.split())[:_PATTERN_CHARACTERS]


def pattern_key(pattern: str) -> str:
    return blake2b(pattern.encode(errors="replace"), digest_size=8).hexdigest()
