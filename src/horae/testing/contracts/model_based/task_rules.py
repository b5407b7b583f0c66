"""Rules of the store machine for tasks: add, upsert, edit, pause, resume, run now, skip, cancel, backfill."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ....errors import Refusal
from ....lifecycle.control import control, edit
from ....lifecycle.plan import Draft, build_task, plan
from ....model.change import Change, ControlDecision, Facts
from ....model.ids import ENTROPY_BYTES, make_id
from ....model.inputs.run_input import RunInput
from ....model.policy import MISSED_MODES, MissedMode
from ....model.record import RecordWrite
from ....ports.store import RunFilter
from ....schedule import After, Link
from ....schedule.after import MODE_CHOICES, ON_CHOICES, Mode, On
from ...decisions import fail
from ...factories import DAY, HOUR, NOON
from .machine_state import MachineState
from .paired_stores import Side
from .strategies import (
    KEYS,
    OWNERS,
    drafts,
    inputs,
    numbers,
    optional_records,
)

_MOST_TASKS: Final = 12
"""Small enough that a claim batch is never cut: where it is cut is up to the store."""
_CONTROLS: Final[tuple[Callable[[Facts, datetime], Change], ...]] = (
    control.run_now,
    control.run_now,
    control.cancel,
    control.delete,
    lambda facts, now: control.delete(facts, now, force=True),
    lambda facts, now: control.run_now(facts, now, fires=False),
    edit.replan,
    lambda facts, _: control.skip_next(facts, 2),
    lambda *_: fail(),
)


class TaskRules(MachineState):
    def _new_id(self) -> str:
        """Ids rise in order of creation, independent of the clock."""
        self._created += 1
        task_id = make_id("tsk", NOON, self._created.to_bytes(ENTROPY_BYTES))
        self._task_ids.append(task_id)
        return task_id

    @precondition(lambda self: len(self._task_ids) < _MOST_TASKS)
    @rule(wanted=st.lists(drafts, min_size=1, max_size=2), attached=optional_records)
    def add(self, wanted: list[Draft], attached: tuple[RecordWrite, ...] = ()) -> None:
        changes: list[Change] = []
        for draft in wanted:
            try:
                changes.append(plan(draft, self._new_id(), self._now)._replace(attached=attached))
            except Refusal:
                self._task_ids.pop()
        self._call_both(lambda side: side.store.add(changes))

    @precondition(lambda self: len(self._task_ids) < _MOST_TASKS)
    @rule(
        predecessors=st.lists(numbers, min_size=1, max_size=3),
        on=st.sampled_from(ON_CHOICES),
        mode=st.sampled_from(MODE_CHOICES),
        draft=drafts,
    )
    def add_after(self, predecessors: list[int], on: On, mode: Mode, draft: Draft) -> None:
        """Add a task that runs after others; those of another owner are refused, as are joins of several roots."""
        schedule = After(tuple(Link(each, on) for each in sorted(set(map(self._some_task, predecessors)))), mode)
        change = plan(draft._replace(schedule=schedule, key=None, past=None), self._new_id(), self._now)
        self._call_both(lambda side: side.store.add([change]))

    @precondition(lambda self: len(self._task_ids) + 3 < _MOST_TASKS)
    @rule(root=numbers, on=st.sampled_from(ON_CHOICES), mode=st.sampled_from(MODE_CHOICES), draft=drafts)
    def add_join(self, root: int, on: On, mode: Mode, draft: Draft) -> None:
        """Add two tasks that run after one, and a third after both: predecessors that share their root."""
        first, ids = self._some_task(root), [self._new_id() for _ in range(3)]
        after_first = After((Link(first, on),), "any")
        schedules = (after_first, after_first, After((Link(ids[0], "ended"), Link(ids[1], on)), mode))
        changes = [
            plan(draft._replace(schedule=schedule, key=None, past=None), task_id, self._now)
            for task_id, schedule in zip(ids, schedules, strict=True)
        ]
        self._call_both(lambda side: side.store.add(changes))

    @rule(number=numbers, predecessor=numbers)
    def run_after(self, number: int, predecessor: int) -> None:
        """Let a task run after another one from now on; a cycle is refused."""
        now, schedule = self._now, After((Link(self._some_task(predecessor), "ended"),))
        self._change(number, lambda facts: edit.edit(facts, facts.task._replace(schedule=schedule), now))

    @precondition(lambda self: len(self._task_ids) < _MOST_TASKS)
    @rule(draft=drafts, owner=st.sampled_from(OWNERS), key=st.sampled_from(KEYS), attached=optional_records)
    def upsert(self, draft: Draft, owner: str, key: str, attached: tuple[RecordWrite, ...]) -> None:
        request, task_id, now = draft._replace(owner=owner, key=key), self._new_id(), self._now

        def decide(facts: Facts | None) -> Change:
            if facts is None:
                return plan(request, task_id, now)._replace(attached=attached)
            return edit.edit(facts, build_task(request, facts.task.id, now), now)._replace(attached=attached)

        self._call_both(lambda side: side.store.upsert(owner, key, decide))
        self._call_both(lambda side: side.store.find(owner, key))

    def _change(self, number: int, decide: ControlDecision, owner: str | None = None) -> None:
        task_id = self._some_task(number)

        def call(side: Side) -> Coroutine[Any, Any, Facts | None]:
            def record(facts: Facts) -> Change:
                side.decision_facts[task_id, "change"] = (facts,)
                return decide(facts)

            return side.store.change(task_id, owner, record)

        self._call_both(call)

    @rule(number=numbers, until=st.sampled_from((None, timedelta(minutes=1), DAY)))
    def pause(self, number: int, until: timedelta | None) -> None:
        end = None if until is None else self._now + until
        self._change(number, partial(control.pause, now=self._now, until=end))

    @rule(number=numbers, missed=st.sampled_from(MISSED_MODES))
    def resume(self, number: int, missed: MissedMode) -> None:
        self._change(number, partial(control.resume, now=self._now, missed=missed))

    @rule(number=numbers, action=st.sampled_from(_CONTROLS), attached=optional_records)
    def control(
        self, number: int, action: Callable[[Facts, datetime], Change], attached: tuple[RecordWrite, ...]
    ) -> None:
        now = self._now
        self._change(number, lambda facts: action(facts, now)._replace(attached=attached))

    @rule(number=numbers, draft=drafts)
    def edit(self, number: int, draft: Draft) -> None:
        now = self._now
        self._change(number, lambda facts: edit.edit(facts, build_task(draft, facts.task.id, now), now))

    @rule(number=numbers, back=st.sampled_from((HOUR, DAY)), before=st.integers(0, 2), given=inputs)
    def backfill(self, number: int, back: timedelta, before: int, given: RunInput | None) -> None:
        now = self._now
        self._change(number, lambda facts: edit.backfill(facts, now - back, now, now, before, given))

    @rule(number=numbers, given=inputs)
    def run_with_input(self, number: int, given: RunInput | None) -> None:
        self._change(number, partial(control.run_now, now=self._now, given=given))

    @rule(number=numbers, run=numbers, given=inputs)
    def retry_run(self, number: int, run: int, given: RunInput | None) -> None:
        """Request another attempt at an occurrence; of a chained one, links that have fired stay fired."""
        wanted, now = RunFilter(task_id=self._some_task(number)), self._now
        found = self._run(self._stores.reference.store.runs(wanted, limit=1_000)).items
        if found:
            one = found[run % len(found)]
            same = (each for each in found if (each.origin, each.planned) == (one.origin, one.planned))
            last = max(same, key=lambda each: each.attempt)
            self._change(number, lambda facts: control.request_retry(facts, last, now, given))

    @rule(number=numbers, run=numbers)
    def cancel_run(self, number: int, run: int) -> None:
        now = self._now

        def decide(facts: Facts) -> Change:
            run_id = facts.live[run % len(facts.live)].id if facts.live else "run_none"
            return control.cancel_run(facts, run_id, now)

        self._change(number, decide)

    @rule(number=numbers, owner=st.sampled_from(OWNERS))
    def pause_as_owner(self, number: int, owner: str) -> None:
        """A task of another owner is treated as absent."""
        self._change(number, partial(control.pause, now=self._now), owner)
