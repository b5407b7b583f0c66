"""Handles of a task and of a run, and listings of both: the methods that users call to query and control them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, Unpack

from ..choices import Language
from ..lifecycle.explain.explanation import Explanation
from ..model.change import Facts
from ..model.inputs.run_input import RunInput
from ..model.policy import MissedMode
from ..model.refusals import refuse
from ..model.run import Origin, Run
from ..model.task import Task, TaskState, TaskStatus, past_of
from ..ports.journal import Line
from ..ports.store import RunFilter, TaskFilter
from ..schedule import iterate
from ..schedule.describe import describe_schedule
from ..service.query.instants import parse_future_instant
from ..service.runs.run_chain import RunChain
from ..service.tasks.edits import KEEP, EditResult, Edits
from ..service.tasks.task_chain import TaskChain
from ..service.tasks.task_request import Duration, When
from ..targets.function.arguments.encode import encode_arguments
from .declared_function import PolicyArguments, to_options
from .suggestions import HANDLE_NAMES, RUN_NAMES, refuse_attribute
from .wait import Occurrence

if TYPE_CHECKING:
    from .horae import Horae


class TaskHandle:
    """A task's immutable fields (few, since there may be many handles); each method reads the rest from the store."""

    __slots__ = ("_app", "created", "id", "name", "owner")

    def __init__(self, app: Horae, task: Task) -> None:
        self._app = app
        self.id = task.id
        self.name = task.name
        self.owner = task.owner
        self.created = task.created

    # --- queries ---------------------------------------------------------------------------------------------------

    async def facts(self) -> Facts:
        """Return the definition, the status, the agenda entries and the live runs."""
        return await self._app.service.tasks.get(self._app.who, self.id)

    async def standing(self) -> TaskStatus:
        return (await self.facts()).status

    async def state(self) -> TaskState:
        return (await self.standing()).state

    async def means(self, language: Language = "en") -> str:
        """Describe the schedule in words."""
        return describe_schedule((await self.facts()).task.schedule, language)

    async def next_due(self) -> datetime | None:
        """Return when the next agenda entry comes due; None when none is left, or the task is paused."""
        facts = await self.facts()
        dues = [entry.due for entry in facts.entries if entry.state != "asleep"]
        return min(dues, default=None)

    async def next(self, number: int = 1) -> list[datetime]:
        """Return the next planned instants of the schedule, whatever state the task is in."""
        task, standing = (await self.facts())[:2]
        return list(islice(iterate(task.schedule, self._app.clock.now(), past_of(task, standing)), number))

    async def wait(self, timeout: Duration | None = None) -> Run:  # noqa: ASYNC109 - a wait has a timeout
        """Wait until the current or next occurrence has ended and return its last run; `TimeoutError` after `timeout`.

        When no occurrence is left, return the task's last run.
        """
        return await self._app.wait_for(self.id, timeout)

    async def runs(self, limit: int = 100) -> tuple[Run, ...]:
        """Return runs, newest first."""
        page = await self._app.service.runs.page(self._app.who, RunFilter(task_id=self.id), limit=limit)
        return page.items

    async def why(self, at: datetime | str | None = None) -> Explanation:
        """Explain why the task did, or did not, run then; without `at`, explain its newest occurrence."""
        return await self._app.why(self, at)

    async def chain(self) -> TaskChain:
        """Return the tasks that it descends from, itself, and those that descend from it, predecessors first."""
        return await self._app.service.tasks.chain(self._app.who, self.id)

    # --- actions ---------------------------------------------------------------------------------------------------

    async def pause(self, reason: str = "", until: datetime | str | None = None) -> None:
        instant = until
        if isinstance(until, str):
            instant = parse_future_instant(until, self._app.zone, self._app.clock.now())
        await self._app.service.tasks.pause(self._app.who, self.id, note=reason, until=_instant(instant))

    async def resume(self, missed: MissedMode = "skip") -> None:
        """Resume, and choose for missed occurrences: skip them, run the latest, run all, or merge them into one."""
        await self._app.service.tasks.resume(self._app.who, self.id, missed)

    async def cancel(self) -> None:
        """Cancel permanently; the history stays."""
        await self._app.service.tasks.cancel(self._app.who, self.id)

    async def delete(self, *, force: bool = False) -> None:
        """Delete the task and its history; with `force` also if others run after it, which are then paused."""
        await self._app.service.tasks.delete(self._app.who, self.id, force=force)

    async def run_now(
        self,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field in every front end
        merge: Mapping[str, Any] | None = None,
        chain: bool = True,
        gate_only: bool = False,
    ) -> RunHandle:
        """Start one extra run now; the schedule does not move. Without `chain`, its end starts no other task.

        With `gate_only` it asks the gate of the task and does not call its target; the verdict is the result of the run.

        `input` are its arguments instead of those of the task; `merge` changes some of these (a merge patch, RFC 7396).
        The task stays as it is, and the retries of the run have the same input.
        """
        given = _make_input(input, merge)
        name = await self._app.service.tasks.run_now(self._app.who, self.id, given, chain=chain, gate_only=gate_only)
        return RunHandle(self._app, self.id, name)

    async def skip(self, wanted: int = 1) -> None:
        """Skip the next so many occurrences, recording each as skipped; 0 reverts that."""
        await self._app.service.tasks.skip_next(self._app.who, self.id, wanted)

    async def backfill(
        self,
        first: datetime,
        last: datetime,
        *,
        again: bool = False,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        merge: Mapping[str, Any] | None = None,
        chain: bool = True,
    ) -> None:
        """Run the occurrences of a past range one by one; with `again`, also those that were backfilled before.

        `input` and `merge` are as for `run_now`, for every run of the range. Without `chain`, their ends start no other task.
        """
        given = _make_input(input, merge)
        await self._app.service.tasks.backfill(
            self._app.who, self.id, first, last, again=again, given=given, chain=chain
        )

    async def edit(  # noqa: PLR0913 - one argument for each editable field
        self,
        *,
        when: When | None = None,
        payload: Mapping[str, Any] | None = None,
        name: str | None = None,
        zone: str | None = None,
        lane: str | None = None,
        labels: Mapping[str, str] | None = None,
        dry_run: bool = False,
        **options: Unpack[PolicyArguments],
    ) -> EditResult:
        """Change only the given fields. A new schedule counts from now, and nothing fires for the past."""
        edits = Edits(
            name=KEEP if name is None else name,
            when=KEEP if when is None else when,
            zone=zone,
            payload=KEEP if payload is None else encode_arguments(payload),
            lane=KEEP if lane is None else lane,
            labels=KEEP if labels is None else labels,
            options=to_options(options),
        )
        return await self._app.service.tasks.edit(self._app.who, self.id, edits, dry_run=dry_run)

    def __repr__(self) -> str:
        return f"<task {self.name!r} {self.id} of {self.owner}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, "A task handle", name, HANDLE_NAMES, "task")


def _make_input(replacement: Mapping[str, Any] | None, patch: Mapping[str, Any] | None) -> RunInput | None:
    """Encode the arguments of a run as the arguments of a task are encoded."""
    if replacement is not None and patch is not None:
        raise refuse("one_input", name="input")
    if patch is not None:
        return RunInput("merge", encode_arguments(patch))
    return None if replacement is None else RunInput("replace", encode_arguments(replacement))


def _instant(moment: datetime | str | None) -> datetime | None:
    return moment if isinstance(moment, datetime) else None


class RunHandle:
    """One requested run; its row exists once it is claimed."""

    __slots__ = ("_app", "id", "task_id")

    def __init__(self, app: Horae, task_id: str, run_id: str) -> None:
        self._app = app
        self.task_id = task_id
        self.id = run_id

    async def get(self) -> Run:
        return await self._app.service.runs.get(self._app.who, self.id)

    async def wait(self, timeout: Duration | None = None) -> Run:  # noqa: ASYNC109 - a wait has a timeout
        """Wait until its occurrence has ended, retries included, and return the last run; `TimeoutError` after `timeout`."""
        return await self._app.wait_for(self.task_id, timeout, await self._occurrence())

    async def _occurrence(self) -> Occurrence:
        """Return origin and planned instant: from the agenda entry before the claim, from the run row after it."""
        facts = await self._app.service.tasks.get(self._app.who, self.task_id)
        for entry in facts.entries:
            if entry.origin is Origin.MANUAL and self._app.run_id_of(entry) == self.id:
                return entry.origin, entry.planned
        run = await self.get()
        return run.origin, run.planned

    async def lines(self) -> tuple[Line, ...]:
        """Return all log lines of the run, read page by page."""
        lines: list[Line] = []
        while page := await self._app.service.runs.lines(self._app.who, self.id, len(lines)):
            lines += (each.line for each in page)
        return tuple(lines)

    async def chain(self) -> RunChain:
        """Return every link of the chain that the run belongs to, with the state of its last run."""
        return await self._app.service.runs.chain(self._app.who, self.id)

    async def cancel(self) -> None:
        await self._app.service.runs.cancel(self._app.who, self.id)

    async def retry(
        self,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        merge: Mapping[str, Any] | None = None,
    ) -> None:
        """Attempt its occurrence once more, with the same idempotency key and input, unless another one is given."""
        await self._app.service.runs.retry(self._app.who, self.id, _make_input(input, merge))

    def __repr__(self) -> str:
        return f"<run {self.id} of {self.task_id}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, "A run handle", name, RUN_NAMES, "run")


_PAGE_SIZE: Final = 500


class TaskListing:
    """`await app.tasks(state="paused")`, or `async for task in app.tasks(labels={"source": "import"})`."""

    def __init__(self, app: Horae, task_filter: TaskFilter, limit: int | None) -> None:
        self._app = app
        self._filter = task_filter
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[TaskHandle]:
        left = self._limit
        after: str | None = None
        while left is None or left > 0:
            size = _PAGE_SIZE if left is None else min(_PAGE_SIZE, left)
            page = await self._app.service.tasks.page(self._app.who, self._filter, after, size)
            for facts in page.items:
                yield TaskHandle(self._app, facts.task)
            left = None if left is None else left - len(page.items)
            after = page.after
            if after is None:
                return

    def __await__(self) -> Generator[Any, None, list[TaskHandle]]:
        return self._collect().__await__()

    async def _collect(self) -> list[TaskHandle]:
        return [task async for task in self]

    def __repr__(self) -> str:
        return "<tasks: await it for a list, or go through it with async for>"


class RunListing:
    """`await app.runs("backup")`, or `async for run in app.runs(state="failed", limit=None)`. Newest planned first."""

    def __init__(self, app: Horae, task: TaskHandle | str | None, run_filter: RunFilter, limit: int | None) -> None:
        self._app = app
        self._task = task
        self._filter = run_filter
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[Run]:
        left = self._limit
        after: str | None = None
        wanted = self._filter
        if self._task is not None:
            task = await self._app.get(self._task) if isinstance(self._task, str) else self._task
            wanted = wanted._replace(task_id=task.id)
        while left is None or left > 0:
            size = _PAGE_SIZE if left is None else min(_PAGE_SIZE, left)
            page = await self._app.service.runs.page(self._app.who, wanted, after, size)
            for run in page.items:
                yield run
            left = None if left is None else left - len(page.items)
            after = page.after
            if after is None:
                return

    def __await__(self) -> Generator[Any, None, list[Run]]:
        return self._collect().__await__()

    async def _collect(self) -> list[Run]:
        return [run async for run in self]

    def __repr__(self) -> str:
        return "<runs: await it for a list, or go through it with async for>"
