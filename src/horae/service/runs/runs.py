"""Runs: list, read, cancel and retry them, read their log lines, and accept their outcome from outside (callback)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from ...clock import Clock
from ...errors import NotFound, Refusal
from ...lifecycle.control import control
from ...lifecycle.control.control import nothing_to_retry, request_retry
from ...lifecycle.settle import settle
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import account_of
from ...model.agents.usage import USAGE_KIND, RunUsage, usage_from
from ...model.change import Change, Facts
from ...model.entry import Entry, EntryKind
from ...model.handled import HANDLED_KIND, Handled, read_handled, run_key
from ...model.inputs.run_input import RunInput
from ...model.lanes.idle import IDLE_RUNS_KIND, IdleRun, idle_run_of
from ...model.limits import ERROR_CHARACTERS, RESULT_BYTES, shorten
from ...model.outcome import Failed, Outcome, Settlement, Succeeded, Waiting
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse
from ...model.run import LIVE_STATES, Run
from ...ports.full_store import FullStore
from ...ports.journal import Journal, NumberedLine
from ...ports.records import Records
from ...ports.store import RunFilter
from ..accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from ..accounts.audit import Audit
from ..accounts.rights import can_see, is_foreign, listed_owner
from ..query.argument_checks import check_filter, check_id, check_page, check_position
from ..query.id_prefix import resolve_run, resolve_task
from ..tasks.commit import AuditAction, TaskWriter
from ..tasks.drafts import TaskDrafts
from ..tasks.functions.functions import Functions
from ..tasks.quotas import refuse_when_used_up
from ..tasks.run_inputs import RunInputs, input_detail
from ..tasks.task_quota import TaskQuota
from .log_watch import LogWatch
from .run_chain import RunChain, load_chain

_ALL_RUNS: Final = RunFilter()
MAX_LINE_WAIT: Final = 20
"""Seconds for which a reader of a log may wait for the next line."""
_MAX_RETRY_READS: Final = 2
_MAX_PAGES: Final = 20
_MAX_DUE_TASKS: Final = 100
"""Due tasks that are searched for a requested run that has not started."""
_SCAN_PAGE_SIZE: Final = 100
"""Page size for reading an owner's runs to find those of an agent."""


class Runs:
    def __init__(  # noqa: PLR0913 - dependencies, each by its name
        self,
        store: FullStore,
        journal: Journal,
        clock: Clock,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        writer: TaskWriter | None = None,
        *,
        approval_policy: ApprovalPolicy = STRICT_POLICY,
        inputs: RunInputs | None = None,
    ) -> None:
        self._store = store
        self._inputs = inputs or RunInputs(
            store, TaskDrafts(clock, approval_policy=approval_policy), Functions(store, clock)
        )
        self._policy = approval_policy
        self._writer = writer or TaskWriter(store, TaskQuota(store, clock), Audit(store, clock))
        self._journal = journal
        self._clock = clock
        self._on_write = on_write
        self.log_watch = LogWatch(store, clock)

    async def page(
        self, principal: Principal, run_filter: RunFilter = _ALL_RUNS, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """Return runs, newest planned instant first, restricted to what the principal may see.

        An agent gets only runs of its own tasks, up to `limit` of them if there are so many.
        """
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        check_filter(run_filter)
        if is_foreign(principal, run_filter.owner):
            return Page(())
        is_of_task = principal.owner_filter is None and run_filter.task_id is not None
        visible = run_filter if is_of_task else run_filter._replace(owner=listed_owner(principal, run_filter.owner))
        if visible.task_id is not None:
            visible = visible._replace(task_id=await resolve_task(self._store, principal, visible.task_id))
        try:
            if principal.agent is None:
                return await self._store.runs(visible, after, limit)
            return await self._agent_page(principal, visible, after, limit)
        except (ValueError, OverflowError):
            # Not a cursor of this store.
            raise refuse("bad_page", value=after, wanted="after", most=MAX_PAGE_SIZE) from None

    async def _agent_page(
        self, principal: Principal, run_filter: RunFilter, after: str | None, limit: int
    ) -> Page[Run]:
        """Read pages until `limit` runs are the agent's own; the last page again, up to the run that ends the result."""
        own: tuple[Run, ...] = ()
        for _ in range(_MAX_PAGES):
            page = await self._store.runs(run_filter, after, max(limit, _SCAN_PAGE_SIZE))
            matching = await self._filter_agent_runs(principal, page.items)
            missing = limit - len(own)
            if len(matching) > missing or (len(matching) == missing and matching[-1] != page.items[-1]):
                last = page.items.index(matching[missing - 1]) + 1
                page = await self._store.runs(run_filter, after, last)
                matching = await self._filter_agent_runs(principal, page.items)
            own += matching
            if page.after is None or len(own) >= limit:
                return Page(own, page.after)
            after = page.after
        return Page(own, after)

    async def _filter_agent_runs(self, principal: Principal, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """Return the runs of tasks that the agent made itself."""
        is_visible: dict[str, bool] = {}
        for task_id in {run.task_id for run in runs}:
            facts = await self._store.facts(task_id, principal.owner_filter)
            is_visible[task_id] = facts is not None and can_see(principal, facts.task)
        return tuple(run for run in runs if is_visible[run.task_id])

    async def get(self, principal: Principal, run_id: str) -> Run:
        principal.require_scope(Scope.READ)
        return await self._get_run(principal, run_id)

    async def idle(self, principal: Principal, run_id: str) -> IdleRun | None:
        """Return since when a run is idle, and whether it has a request to yield; None: it is not idle."""
        run = await self.get(principal, run_id)
        lanes = run.lanes if run.live else ()
        return idle_run_of(run.id, [await self._store.get_record(IDLE_RUNS_KIND, lane) for lane in lanes])

    async def usage(self, principal: Principal, run_id: str) -> RunUsage | None:
        """Return the tokens, cost and model that the agent of a run has reported; None: none, or the run has no agent."""
        run = await self.get(principal, run_id)
        return await load_usage(self._store, run.id)

    async def handled(self, principal: Principal, run_id: str) -> tuple[Handled, ...]:
        """Return the messages over which a run has moved cursors, by stream and reader."""
        run = await self.get(principal, run_id)
        key = run_key(run.id)
        page = await self._store.records(HANDLED_KIND, account_of(run.owner), key, MAX_PAGE_SIZE)
        return read_handled(record for record in page.items if record.key.startswith(key))

    async def chain(self, principal: Principal, run_id: str) -> RunChain:
        """Return the chain of the root occurrence that a run belongs to, with the names of its tasks."""
        run = await self.get(principal, run_id)
        chain = await load_chain(self._store, principal.owner_filter, run.root)
        names = await self._visible_names(principal, [link.task_id for link in chain.links])
        if principal.agent is not None:
            chain = chain._replace(links=tuple(link for link in chain.links if link.task_id in names))
        return chain._replace(links=tuple(link._replace(name=names.get(link.task_id)) for link in chain.links))

    async def _visible_names(self, principal: Principal, task_ids: Sequence[str]) -> dict[str, str]:
        if principal.agent is None:
            return await self._store.task_names(sorted(task_ids), principal.owner_filter)
        found = [await self._store.facts(each, principal.owner_filter) for each in task_ids]
        return {each.task.id: each.task.name for each in found if each is not None and can_see(principal, each.task)}

    async def _get_run(self, principal: Principal, run_id: str) -> Run:
        check_id(run_id, "no_such_run")
        run = await self._store.run(await resolve_run(self._store, principal, run_id), principal.owner_filter)
        if run is None:
            await self._refuse_if_requested(principal, run_id)
        if run is None or (principal.agent is not None and not await self._filter_agent_runs(principal, (run,))):
            raise refuse("no_such_run", id=run_id)
        return run

    async def _refuse_if_requested(self, who: Principal, run_id: str) -> None:
        """A requested run that waits on the agenda has an id before it has a row."""
        requested = await self._requested(who, run_id)
        if requested is not None:
            facts, entry = requested
            since = f"{entry.due:%Y-%m-%d %H:%M:%S}Z"
            task = facts.task
            raise refuse("run_waiting", id=run_id, name=task.name, task=task.id, planned=entry.planned, since=since)

    async def _requested(self, who: Principal, run_id: str) -> tuple[Facts, Entry] | None:
        """Looked for among the tasks that are due first, and those that no running node can start."""
        due = await self._store.upcoming(who.owner_filter, _MAX_DUE_TASKS)
        for tasks in (due, await self._store.stranded(who.owner_filter, self._clock.now(), _MAX_DUE_TASKS)):
            for facts in tasks:
                entry = control.requested_entry(facts, run_id)
                if entry is not None and can_see(who, facts.task):
                    return facts, entry
        return None

    async def lines(
        self, principal: Principal, run_id: str, after: int = 0, limit: int = MAX_PAGE_SIZE, *, wait: int = 0
    ) -> tuple[NumberedLine, ...]:
        """Return up to `limit` log lines of a visible run after a number, including the line that marks a cut.

        Where there is none and the run goes on, wait up to `wait` seconds for one.
        """
        check_position("after", after)
        check_page(None, limit)
        run = await self.get(principal, run_id)
        lines = await self._journal.lines(run.id, after, limit)
        if lines or not run.live or wait <= 0:
            return lines
        await self.log_watch.wait(run.id, after, min(wait, MAX_LINE_WAIT))
        return await self._journal.lines(run.id, after, limit)

    async def last_line(self, principal: Principal, run_id: str) -> int:
        """Return the number of the last log line of a visible run; 0 if it has none."""
        return await self._journal.last_line((await self.get(principal, run_id)).id)

    async def attempts(self, principal: Principal, run_id: str) -> tuple[Run, ...]:
        """Return every run of the same occurrence, first attempt first."""
        principal.require_scope(Scope.READ)
        return await self._attempts(principal, await self._get_run(principal, run_id))

    async def cancel(self, principal: Principal, run_id: str) -> Run:
        """Ask a run to end; a run that no node holds ends at once."""
        principal.require_scope(Scope.RUN)
        task_id, name = await self._find_stoppable(principal, run_id)
        now = self._clock.now()
        action = AuditAction("run.cancel", lambda _facts, _change: {"run": name})
        await self._writer.change(principal, task_id, lambda facts: control.cancel_run(facts, name, now), action)
        self._on_write(None)
        return await self._get_run(principal, name)

    async def _find_stoppable(self, who: Principal, run_id: str) -> tuple[str, str]:
        """Return the task and the id of a run that has not ended, or not started."""
        try:
            run = await self._get_run(who, run_id)
        except NotFound as refusal:
            if refusal.code != "run_waiting":
                raise
            return str(refusal.facts["task"]), run_id
        if not run.live:
            raise refuse("run_over", task=run.task_id, state=run.state.value)
        return run.task_id, run.id

    async def retry(self, principal: Principal, run_id: str, given: RunInput | None = None) -> Facts:
        """Attempt the occurrence of this run once more, with the same idempotency key, and its input unless one is given."""
        principal.require_scope(Scope.RUN)
        run = await self._get_run(principal, run_id)
        if given is not None:
            known = await self._store.facts(run.task_id, principal.owner_filter)
            if known is None:
                raise refuse("no_such_run", id=run_id)
            given = await self._inputs.check(principal, known.task, given)
        last = await self._last_attempt(principal, run)
        for _ in range(_MAX_RETRY_READS):
            facts, entry = await self._add_retry(principal, last, given)
            newest = await self._last_attempt(principal, run)
            if entry is None or not _is_superseded(
                entry, newest, await self._store.facts(run.task_id, principal.owner_filter)
            ):
                self._on_write(None)
                return facts
            # Another attempt started and ended meanwhile: retry that one.
            last = newest
        raise nothing_to_retry(last)

    async def _add_retry(self, principal: Principal, last: Run, given: RunInput | None) -> tuple[Facts, Entry | None]:
        """Return the facts after it, and the new entry, unless one was waiting already."""
        now = self._clock.now()
        new_entries: list[Entry] = []

        def decide(facts: Facts) -> Change:
            self._policy.check_approved(facts.task)
            refuse_when_used_up(facts)
            others = tuple(each for each in facts.entries if not _is_stale(each, last))
            self._inputs.check_again(facts.task, given)
            change = request_retry(facts._replace(entries=others), last, now, given)
            new_entries[:] = [each for each in change.put if each.slot not in {other.slot for other in others}]
            return change

        try:
            action = AuditAction("run.retry", lambda _facts, _change: {"run": last.id, **input_detail(given)})
            facts = await self._writer.change(principal, last.task_id, decide, action)
        except NotFound:
            raise refuse("no_such_run", id=last.id) from None
        except Refusal:
            await self._drop_stale_entries(principal, last)
            raise
        return facts, new_entries[0] if new_entries else None

    async def _drop_stale_entries(self, principal: Principal, last: Run) -> None:
        """Remove entries from the agenda that were added too late."""
        await self._store.change(
            last.task_id,
            principal.owner_filter,
            lambda facts: Change(dropped=tuple(each.slot for each in facts.entries if _is_stale(each, last))),
        )

    async def _attempts(self, principal: Principal, run: Run) -> tuple[Run, ...]:
        page = await self._store.runs(
            RunFilter(principal.owner_filter, run.task_id, since=run.planned, until=run.planned), limit=MAX_PAGE_SIZE
        )
        same = (each for each in page.items if (each.origin, each.planned) == (run.origin, run.planned))
        return tuple(sorted(same, key=lambda each: each.attempt))

    async def _last_attempt(self, principal: Principal, run: Run) -> Run:
        return max(await self._attempts(principal, run), key=lambda each: each.attempt, default=run)

    async def awaiting_answer(self, run_id: str, proves: Callable[[Run], bool]) -> Run:
        """Return the run that can still be answered with this proof; a front end calls it before reading the body."""
        check_id(run_id, "bad_answer")
        run = await self._store.run(run_id, None)
        if run is None or run.state not in LIVE_STATES or not proves(run):
            raise refuse("bad_answer", id=run_id)
        return run

    async def answer(self, run_id: str, proves: Callable[[Run], bool], outcome: Outcome) -> None:
        """Record the outcome that an external worker reports, or (`Waiting`) that it is still working.

        The worker is no principal: `proves` says whether the proof in its request was issued for this run.
        """
        run, now = await self.awaiting_answer(run_id, proves), self._clock.now()
        if isinstance(outcome, Waiting) and outcome.deadline <= now:
            raise refuse("deadline_past", until=outcome.deadline)
        # The answer may arrive before the run is recorded as `waiting`: a `running` run ends all the same.
        settlement = Settlement(run.id, run.token, outcome, run.started, now)
        if await self._store.settle([settlement], settle):
            raise refuse("bad_answer", id=run_id)
        self._on_write(None)


def _is_stale(entry: Entry, last: Run) -> bool:
    """Whether the entry asks for an attempt that the ledger has already, so that its claim would be ignored."""
    same = (entry.origin, entry.planned) == (last.origin, last.planned)
    return same and entry.kind is EntryKind.RETRY and entry.attempt <= last.attempt


def _is_superseded(entry: Entry, newest: Run, facts: Facts | None) -> bool:
    """Whether the requested attempt existed before: our entry still waits, or the attempt was not made from it."""
    is_waiting = facts is not None and any(_is_stale(each, newest) for each in facts.entries)
    return is_waiting or (newest.attempt == entry.attempt and newest.forgiven != entry.forgiven)


def build_outcome(result: str | None, error: str | None, until: datetime | None) -> Outcome:
    """Build the outcome of an answer: an error, a later deadline, or a result; each within its bounds."""
    if error is not None:
        return Failed(shorten(str(error), ERROR_CHARACTERS))
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


async def load_usage(records: Records, run_id: str) -> RunUsage | None:
    """Return the usage of a run without a check of rights; None if its agent has reported none, or it had no agent."""
    record = await records.get_record(USAGE_KIND, run_id)
    return None if record is None else usage_from(record)
