"""Plans of one transaction in the documented layout: changes by other programs are followed, and the layout is written with
the documents; the commit finds the layout as it was read, or is repeated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha1
from typing import Any, Final, NamedTuple

from ....errors import Refusal
from ....lifecycle.plans.layout import follow_plan, quarantine_plan, render_plan, render_votes
from ....lifecycle.plans.rules import is_closed
from ....model.change import Change
from ....model.ids import from_microseconds
from ....model.plans.layout import (
    MESSAGE_PREFIX,
    PLAN_QUEUE,
    WORK_PREFIX,
    FoundPlan,
    PlanRow,
    ShownPlan,
    canonical_member,
    member_of,
)
from ....model.plans.plan import KEY_PREFIX, Plan, plan_of
from ....model.run import Run
from ....model.stations.ballot import Ballot
from ....model.task import Task
from ..layout.documents import TaskDocument, decode_run_document
from ..layout.keys import RUN_RANK_LENGTH
from .transaction import VERSION_LENGTH, Transaction

CLOSED_SECONDS: Final = 86_400
"""A closed plan is shown for a day."""
_NEWEST_RUNS: Final = 20
"""Runs from which the counters in the layout are derived."""


class KnownPlan(NamedTuple):
    """The task of a plan in the course of a transaction, as its unit of work has it."""

    task_id: str
    before: TaskDocument | None
    after: TaskDocument | None
    ended: tuple[Run, ...]


class PlanRecord(NamedTuple):
    """What is noted of a plan: its member, the state of the layout (as the condition PLAN has it), and its fields."""

    member: str
    state: str
    shown: ShownPlan

    def encode(self) -> str:
        return f"{self.member}\n{self.state}\n{json.dumps(self.shown)}"

    @classmethod
    def decode(cls, text: str) -> PlanRecord:
        member, state, shown = text.split("\n")
        return cls(member, state, ShownPlan(*json.loads(shown)))


class _ReadPlan(NamedTuple):
    """`holder` is the task whose plan has the member: ids are free per owner, and the first owner's plan is shown."""

    holder: str | None
    record: PlanRecord | None
    member: str
    state: str
    found: FoundPlan
    runs: tuple[Run, ...]

    @property
    def is_changed(self) -> bool:
        return self.record is not None and self.record.state != self.state


class PlanWrites:
    """`now` is the instant of the decisions; without it, the clock of the server."""

    def __init__(self, transaction: Transaction, now: datetime | None) -> None:
        self._transaction = transaction
        self._now = now
        self._plans: dict[int, tuple[Task, Plan | None]] = {}
        """Plans by the identity of their tasks: each is parsed once in a transaction."""
        self._read: dict[str, _ReadPlan] = {}
        self._followed: set[str] = set()
        self._refused: dict[str, Refusal] = {}

    def has_followed(self, task_id: str) -> bool:
        """Whether a change by another program was followed, so that the layout is to be written."""
        return task_id in self._followed

    async def follow(self, plans: Sequence[KnownPlan]) -> list[tuple[str, Change]]:
        """Return what follows from the changes that other programs have made of these plans, by task.

        A plan that cannot be read is paused until it is written again; its message stays as it was found.
        """
        await self._load(plans)
        changes = []
        for each in plans:
            read, plan = self._read[each.task_id], self._plan_of(each.after)
            if each.after is None or plan is None or read.holder not in (None, each.task_id):
                continue
            facts = each.after.facts
            if read.record is None and not is_closed(facts):
                # A plan of the time before the layout was on.
                self._followed.add(each.task_id)
            if read.record is None or not read.is_changed:
                continue
            self._followed.add(each.task_id)
            try:
                change = follow_plan(facts, plan, read.record.shown, read.found, self._at)
            except Refusal as refusal:
                self._refused[each.task_id] = refusal
                change = quarantine_plan(facts, refusal, self._at)
            changes.append((each.task_id, change))
        return changes

    async def write(self, plans: Sequence[KnownPlan]) -> None:
        """Put the layout of these plans into the transaction."""
        await self._load(plans)
        for each in plans:
            read = self._read[each.task_id]
            if not read.member or read.holder not in (None, each.task_id):
                continue
            if read.is_changed and each.task_id not in self._followed:
                # Another program was faster: its change is followed first, with the next look at the layout.
                continue
            self._transaction.require(read.state, "PLAN", PLAN_QUEUE, read.member)
            plan = self._plan_of(each.after)
            is_removed = read.is_changed and read.found.message is None
            if each.after is None or plan is None or is_removed:
                self._remove(each.task_id, read)
            else:
                runs = {run.id: run for run in (*read.runs, *each.after.live, *each.ended)}
                newest = sorted(runs.values(), key=lambda run: (run.planned, run.attempt), reverse=True)
                self._put(each, read, render_plan(plan, each.after.facts, newest, self._at))

    @property
    def _at(self) -> datetime:
        if self._now is None:
            raise AssertionError("the plans were not read")
        return self._now

    def _plan_of(self, document: TaskDocument | None) -> Plan | None:
        if document is None:
            return None
        task = document.task
        known = self._plans.get(id(task))
        if known is None:
            known = self._plans[id(task)] = (task, plan_of(task))
        return known[1]

    async def _load(self, plans: Sequence[KnownPlan]) -> None:
        """Read what the layout has of these plans, all with one script."""
        names: dict[str, str] = {}
        for each in plans:
            plan = self._plan_of(each.before) or self._plan_of(each.after)
            if each.task_id not in self._read and plan is not None:
                names[each.task_id] = member_of(plan)
            elif plan is None:
                self._read.setdefault(each.task_id, _NOTHING)
        if not names:
            return
        keys = self._transaction.keys
        words = [word for pair in names.items() for word in pair]
        names_of_keys = (keys.plan_rows, keys.plan_names, keys.plan_tasks, PLAN_QUEUE)
        time, *rows = await self._transaction.client.run_script(
            "read_plans", names_of_keys, (keys.tag, RUN_RANK_LENGTH, _NEWEST_RUNS, *words)
        )
        self._now = self._now or from_microseconds(int(time))
        for task_id, row in zip(names, rows, strict=True):
            self._read[task_id] = _decode_row(row)

    def _put(self, plan: KnownPlan, read: _ReadPlan, row: PlanRow) -> None:
        task_id, keys = plan.task_id, self._transaction.keys
        record = PlanRecord(read.member, f"{row.shown.score} {_digest(row.message)}", row.shown)
        if read.record is None and read.found.score is not None:
            # Another program has put it into the queue, under this name. What it wrote is followed as a change.
            if not row.is_closed:
                self._note(task_id, record)
            return
        refusal = self._refused.get(task_id)
        if refusal is not None:
            # An unreadable message stays, so that a person can correct it.
            kept = record._replace(state=f"{row.shown.score} {read.state.partition(' ')[2]}")
            self._write_keys(kept.member, row.shown.score, "=", "", "")
            self._note(task_id, kept)
            self._transaction.call("HSET", keys.quarantined_plans, read.member, encode_refusal(kept.state, refusal))
            return
        if self.has_followed(task_id):
            self._transaction.call("HDEL", keys.quarantined_plans, read.member)
        work = row.work if plan.ended and row.work is not None else ""
        if record == read.record and not work and not self.has_followed(task_id):
            return
        seconds = str(CLOSED_SECONDS) if row.is_closed else ""
        self._write_keys(read.member, row.shown.score, row.message, work, seconds)
        if row.is_closed:
            self._forget(task_id, read.member)
        else:
            self._note(task_id, record)

    def _remove(self, task_id: str, read: _ReadPlan) -> None:
        if read.record is not None or read.found.score is None:
            self._write_keys(read.member, "", "", "", "")
            self._forget(task_id, read.member)

    def _write_keys(self, member: str, score: str, message: str, work: str, seconds: str) -> None:
        self._transaction.call("PLAN", PLAN_QUEUE, member, score, message, work, seconds)

    def _note(self, task_id: str, record: PlanRecord) -> None:
        keys = self._transaction.keys
        self._transaction.call("HSET", keys.plan_rows, task_id, record.encode())
        self._transaction.call("HSET", keys.plan_tasks, record.member, task_id)

    def _forget(self, task_id: str, member: str) -> None:
        keys = self._transaction.keys
        self._transaction.call("HDEL", keys.plan_rows, task_id)
        self._transaction.call("HDEL", keys.plan_tasks, member)
        canonical = canonical_member(member)
        if canonical is not None and canonical != member:
            self._transaction.call("HDEL", keys.plan_names, canonical)


async def show_votes(transaction: Transaction, ballot: Ballot) -> None:
    """Show the votes of a plan in the layout as they come in, in the transaction that stores them; other tasks have no row."""
    keys = transaction.keys
    words = ("HGET", keys.plan_rows, ballot.task_id)
    noted = await transaction.client.call(*words) if keys.has_plan_layout else None
    if noted is not None:
        # A plan that is removed meanwhile leaves no key.
        transaction.require(noted, *words)
        member = PlanRecord.decode(noted).member
        work_key = f"{WORK_PREFIX}{member.removeprefix(MESSAGE_PREFIX)}"
        transaction.call("SET", work_key, render_votes(ballot.result()))


_NOTHING: Final = _ReadPlan(None, None, "", "", FoundPlan(None, None), ())


def is_plan_task(document: TaskDocument | None) -> bool:
    """Whether the task may be a plan, by its natural key."""
    return document is not None and is_plan_key(document.task.key)


def is_plan_key(key: str | None) -> bool:
    return key is not None and KEY_PREFIX in key


def _decode_row(row: Sequence[Any]) -> _ReadPlan:
    holder, noted, member, state, score, message, *runs = row
    return _ReadPlan(
        holder,
        None if noted is None else PlanRecord.decode(noted),
        member,
        state,
        FoundPlan(score, decode_message(message)),
        tuple([decode_run_document(text[VERSION_LENGTH:]) for text in runs if text is not None]),
    )


def decode_message(text: str | None) -> str | None:
    """Decode a message as the scripts return it; bytes that are no UTF-8 are replaced."""
    if text is None:
        return None
    return text[1:] if text[0] == "s" else bytes.fromhex(text[1:]).decode(errors="replace")


def encode_refusal(state: str, refusal: Refusal) -> str:
    """Return the entry of a plan in quarantine: the state of the layout, and the reason in both languages."""
    reasons = {language: sentence.message for language, sentence in refusal.sentences.items()}
    return f"{state}\n{json.dumps(reasons, ensure_ascii=False)}"


def decode_reason(text: str) -> dict[str, str]:
    reasons: dict[str, str] = json.loads(text.partition("\n")[2])
    return reasons


def _digest(message: str) -> str:
    return sha1(message.encode(), usedforsecurity=False).hexdigest()
