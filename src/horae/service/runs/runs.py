"""Runs in and out: listed, read, tried again, ended, answered from outside; and what they said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from ...clock import Clock
from ...errors import NotFound, Refusal
from ...lifecycle import control
from ...lifecycle.retry_request import try_again
from ...lifecycle.settle import settle
from ...model.accounts.principal import Principal, Scope
from ...model.change import Change, Facts
from ...model.entry import Entry, EntryKind
from ...model.limits import ERROR_CHARACTERS, LOG_LINES, RESULT_BYTES, shortened
from ...model.outcome import Failed, Outcome, Settlement, Succeeded, Waiting
from ...model.page import LARGEST_PAGE, Page
from ...model.refusals import refuse
from ...model.run import LIVE, Run
from ...ports.journal import Journal, NumberedLine
from ...ports.records import Records
from ...ports.store import RunFilter, Store
from ..accounts.approval_policy import STRICT, Gate
from ..accounts.audit import Audit
from ..accounts.rights import is_foreign, sees
from ..query.argument_checks import check_id, check_page, check_position, check_wanted
from ..query.id_prefix import resolve_run, resolve_task
from ..tasks.commit import Committing, Deed
from ..tasks.task_quota import Seats

_ALL: Final = RunFilter()
_ALL_LINES: Final = LOG_LINES + 1
_READ_AGAIN: Final = 2
_PAGES_AHEAD: Final = 20
_REQUESTED_AMONG: Final = 100
"""So many due tasks are searched for a run that has not started."""
_READ_AHEAD: Final = 100
"""How many runs of an owner are read at once to find those of its guest."""


class Keeping(Store, Records, Protocol):
    """What it asks of the store."""


class Runs:
    def __init__(
        self,
        store: Keeping,
        journal: Journal,
        clock: Clock,
        told: Callable[[datetime | None], None] = lambda _due: None,
        commit: Committing | None = None,
        *,
        gate: Gate = STRICT,
    ) -> None:
        self._store = store
        self._gate = gate
        self._commit = commit or Committing(store, Seats(store, clock), Audit(store, clock))
        self._journal = journal
        self._clock = clock
        self._told = told

    async def page(
        self, who: Principal, wanted: RunFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """Newest planned first. Whatever owner is asked for, nobody sees more than is theirs.

        A guest is given its own alone, as many as were asked for where there are so many.
        """
        who.must(Scope.READ)
        check_page(after, limit)
        check_wanted(wanted)
        if is_foreign(who, wanted.owner):
            return Page(())
        seen = wanted if who.scope is None else wanted._replace(owner=who.scope)
        if seen.task_id is not None:
            seen = seen._replace(task_id=await resolve_task(self._store, who, seen.task_id))
        try:
            if who.agent is None:
                return await self._store.runs(seen, after, limit)
            return await self._guests_page(who, seen, after, limit)
        except (ValueError, OverflowError):
            # No page ever ended there.
            raise refuse("bad_page", value=after, wanted="after", most=LARGEST_PAGE) from None

    async def _guests_page(self, who: Principal, wanted: RunFilter, after: str | None, limit: int) -> Page[Run]:
        """Pages are read until so many are its own; the last one again, up to the run that ends the answer."""
        own: tuple[Run, ...] = ()
        for _ in range(_PAGES_AHEAD):
            page = await self._store.runs(wanted, after, max(limit, _READ_AHEAD))
            found = await self._of_guest(who, page.items)
            room = limit - len(own)
            if len(found) > room or (len(found) == room and found[-1] != page.items[-1]):
                last = page.items.index(found[room - 1]) + 1
                page = await self._store.runs(wanted, after, last)
                found = await self._of_guest(who, page.items)
            own += found
            if page.after is None or len(own) >= limit:
                return Page(own, page.after)
            after = page.after
        return Page(own, after)

    async def _of_guest(self, who: Principal, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """Those of the tasks that an agent made itself."""
        own: dict[str, bool] = {}
        for task_id in {run.task_id for run in runs}:
            facts = await self._store.facts(task_id, who.scope)
            own[task_id] = facts is not None and sees(who, facts.task)
        return tuple(run for run in runs if own[run.task_id])

    async def get(self, who: Principal, run_id: str) -> Run:
        who.must(Scope.READ)
        return await self._found(who, run_id)

    async def _found(self, who: Principal, run_id: str) -> Run:
        check_id(run_id, "no_such_run")
        found = await self._store.run(await resolve_run(self._store, who, run_id), who.scope)
        if found is None:
            await self._refuse_if_requested(who, run_id)
        if found is None or (who.agent is not None and not await self._of_guest(who, (found,))):
            raise refuse("no_such_run", id=run_id)
        return found

    async def _refuse_if_requested(self, who: Principal, run_id: str) -> None:
        """A run that was asked for and waits on the agenda has an id before it has a row."""
        requested = await self._requested(who, run_id)
        if requested is not None:
            facts, entry = requested
            since = f"{entry.due:%Y-%m-%d %H:%M:%S}Z"
            task = facts.task
            raise refuse("run_waiting", id=run_id, name=task.name, task=task.id, planned=entry.planned, since=since)

    async def _requested(self, who: Principal, run_id: str) -> tuple[Facts, Entry] | None:
        """Looked for among the tasks that are due first, and those that no running node can start."""
        for look in (self._store.upcoming, self._store.stranded):
            for facts in await look(who.scope, _REQUESTED_AMONG):
                entry = control.requested_entry(facts, run_id)
                if entry is not None and sees(who, facts.task):
                    return facts, entry
        return None

    async def lines(
        self, who: Principal, run_id: str, after: int = 0, limit: int = _ALL_LINES
    ) -> tuple[NumberedLine, ...]:
        """What a run said, the line that tells of more included; only to those who may see the run."""
        check_position("after", after)
        if limit != _ALL_LINES:
            check_page(None, limit)
        run = await self.get(who, run_id)
        return await self._journal.lines(run.id, after, limit)

    async def cancel(self, who: Principal, run_id: str) -> Run:
        """Ask a run to end; what no node holds ends at once."""
        who.must(Scope.RUN)
        task_id, name = await self._stoppable(who, run_id)
        now = self._clock.now()
        deed = Deed("run.cancel", lambda _facts, _change: {"run": name})
        await self._commit.change(who, task_id, lambda facts: control.cancel_run(facts, name, now), deed)
        self._told(None)
        return await self._found(who, name)

    async def _stoppable(self, who: Principal, run_id: str) -> tuple[str, str]:
        """The task and the id of a run that has not ended, or not started."""
        try:
            run = await self._found(who, run_id)
        except NotFound as refusal:
            if refusal.code != "run_waiting":
                raise
            return str(refusal.facts["task"]), run_id
        if not run.live:
            raise refuse("run_over", task=run.task_id, state=run.state.value)
        return run.task_id, run.id

    async def retry(self, who: Principal, run_id: str) -> Facts:
        """The occurrence of this run is attempted once more, with the same idempotency key."""
        who.must(Scope.RUN)
        run = await self._found(who, run_id)
        last = await self._last_attempt(who, run)
        for _ in range(_READ_AGAIN):
            facts, made = await self._try_again(who, last)
            newest = await self._last_attempt(who, run)
            if made is None or not _came_too_late(made, newest, await self._store.facts(run.task_id, who.scope)):
                self._told(None)
                return facts
            # Another attempt came and went while we looked at the one before it: that one is what is to be tried again.
            last = newest
        raise refuse("nothing_to_retry", state=last.state.value)

    async def _try_again(self, who: Principal, last: Run) -> tuple[Facts, Entry | None]:
        """The facts after it; and the entry that was made for it, unless there was one that waits."""
        now = self._clock.now()
        made: list[Entry] = []

        def decide(facts: Facts) -> Change:
            self._gate.check_open(facts.task)
            others = tuple(each for each in facts.entries if not _is_late(each, last))
            change = try_again(facts._replace(entries=others), last, now)
            made[:] = [each for each in change.put if each.slot not in {other.slot for other in others}]
            return change

        try:
            deed = Deed("run.retry", lambda _facts, _change: {"run": last.id})
            facts = await self._commit.change(who, last.task_id, decide, deed)
        except NotFound:
            raise refuse("no_such_run", id=last.id) from None
        except Refusal:
            await self._drop_late(who, last)
            raise
        return facts, made[0] if made else None

    async def _drop_late(self, who: Principal, last: Run) -> None:
        """What we asked for too late must not stay on the agenda."""
        await self._store.change(
            last.task_id,
            who.scope,
            lambda facts: Change(dropped=tuple(each.slot for each in facts.entries if _is_late(each, last))),
        )

    async def _last_attempt(self, who: Principal, run: Run) -> Run:
        page = await self._store.runs(
            RunFilter(who.scope, run.task_id, since=run.planned, until=run.planned), limit=LARGEST_PAGE
        )
        same = [each for each in page.items if (each.origin, each.planned) == (run.origin, run.planned)]
        return max(same, key=lambda each: each.attempt, default=run)

    async def awaiting_answer(self, run_id: str, proves: Callable[[Run], bool]) -> Run:
        """The run that can still be answered with this proof; a front end asks before it reads the answer itself."""
        check_id(run_id, "bad_answer")
        run = await self._store.run(run_id, None)
        if run is None or run.state not in LIVE or not proves(run):
            raise refuse("bad_answer", id=run_id)
        return run

    async def answer(self, run_id: str, proves: Callable[[Run], bool], outcome: Outcome) -> None:
        """Somebody else was at work on it, and tells how it ended, or (`Waiting`) that it still is.

        Who answers is no principal: `proves` says whether what came with the answer was given out for this run.
        """
        run, now = await self.awaiting_answer(run_id, proves), self._clock.now()
        if isinstance(outcome, Waiting) and outcome.deadline <= now:
            raise refuse("deadline_past", until=outcome.deadline)
        # An answer may overtake the report that there will be one: then the run is still `running`, and ends all the same.
        settlement = Settlement(run.id, run.token, outcome, run.started, now)
        if await self._store.settle([settlement], settle):
            raise refuse("bad_answer", id=run_id)
        self._told(None)


def _is_late(entry: Entry, last: Run) -> bool:
    """It asks for an attempt that the ledger has already, and would come to nothing."""
    same = (entry.origin, entry.planned) == (last.origin, last.planned)
    return same and entry.kind is EntryKind.RETRY and entry.attempt <= last.attempt


def _came_too_late(made: Entry, newest: Run, facts: Facts | None) -> bool:
    """The attempt that we asked for was there before: it is there while our entry still waits, or is not made from it."""
    waits = facts is not None and any(_is_late(each, newest) for each in facts.entries)
    return waits or (newest.attempt == made.attempt and newest.forgiven != made.forgiven)


def answered(result: str | None, error: str | None, until: datetime | None) -> Outcome:
    """How an answer reads as an outcome: an error, a later deadline, or a result; each within its bounds."""
    if error is not None:
        return Failed(shortened(str(error), ERROR_CHARACTERS))
    if until is None:
        return Succeeded(_checked_result(result))
    if getattr(until, "tzinfo", None) is None:
        raise refuse("naive_instant", value=until)
    return Waiting(until.astimezone(UTC))


def _checked_result(result: str | None) -> str | None:
    size = 0 if result is None else len(result.encode(errors="replace"))
    if size > RESULT_BYTES:
        raise refuse("payload_too_large", size=size, most=RESULT_BYTES)
    return result
