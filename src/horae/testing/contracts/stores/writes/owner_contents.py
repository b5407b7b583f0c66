"""Contents for moves of one owner: everything that an owner can have, beside other owners in both deployments."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from .....clock import SystemClock
from .....encryption import Cipher
from .....encryption.cipher import Key
from .....model.accounts.account import Owner, owner_record
from .....model.accounts.principal import LOCAL, Role
from .....model.change import Change, Facts
from .....model.entry import EntryState
from .....model.events.webhook import Webhook, webhook_record
from .....model.lanes.lane import owner_lane
from .....model.messages import NewMessage
from .....model.run import RunState
from .....model.task import Pause, PauseCause, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.journal import Line
from .....ports.records import Record, RecordWrite
from .....ports.store import RunFilter, TaskFilter
from .....schedule import After, Link
from .....service.accounts.secrets import SecretVault
from .....transfer.owner import Deployment, OwnerMover
from .....transfer.owner.owner_move import StepCallback
from ....decisions import always
from ....factories import (
    DAY,
    HOUR,
    MINUTE,
    NOON,
    a_new_task,
    a_run,
    a_task,
    an_ended_run,
    an_entry,
    an_event,
)

OWNER: Final = "ada"
OTHER: Final = "bob"
CLOCK: Final = SystemClock()


async def fill_source(store: FullStore, cipher: Cipher) -> None:
    """Give ada one of everything, all of it idle, and bob a task that goes on."""
    await store.write_records([_write(owner_record(Owner(name, Role.MEMBER, NOON))) for name in (OWNER, OTHER)])
    hook = webhook_record(Webhook("whk_1", OWNER, "https://example.com", NOON, since=3))
    due = Record("delivery.due", "whk_1/dlv_1", OWNER, "{}", expires=NOON + DAY)
    token = Record("token", "tok_1", OWNER, json.dumps({"note": "漢字"}))
    await store.write_records([_write(each) for each in (hook, due, token)])
    vault = SecretVault(store, cipher, CLOCK)
    await vault.set(LOCAL, "KEY", "a value", OWNER)
    await vault.set(LOCAL._replace(owner="horae:webhook:whk_1"), "signing.1", "signed", "horae:webhook:whk_1")
    await store.set_lane(owner_lane(OWNER), 7)
    await store.set_lane(f"{OWNER}/press", 2)
    await store.set_lane("shared", 3)
    for owner in (OWNER, OTHER):
        messages = [NewMessage("chat:1", f"{place}", "Ada", "web", f"{place}", NOON) for place in range(3)]
        await store.append_messages(owner, messages)
        await store.register_reader(owner, "chat:1", "handled", 2, NOON)
    await store.add(_tasks())
    first = (await store.tasks(TaskFilter(OWNER))).items[0]
    await store.write_lines([Line(_run_of(first).id, NOON, "info", f"{place}") for place in range(3)])


def _tasks() -> list[Change]:
    plain = a_task(owner=OWNER, key="first", payload='{"n":1}', labels=(("team", "x"),))
    paused = a_task(owner=OWNER, version=4)
    status = TaskStatus(TaskState.PAUSED, 3, 2, 1, NOON, '"last"', Pause(NOON, PauseCause.REQUESTED, "旧"))
    follower = a_task(owner=OWNER, schedule=After((Link(plain.id, "succeeded"),)))
    system = a_task(owner=f"horae:{OWNER}")
    runs = [_run_of_task(plain, place) for place in range(3)]
    foreign = a_task(owner=OTHER)
    return [
        a_new_task(plain, entries=[an_entry(plain, due=NOON + 100 * 365 * DAY)], runs=runs),
        a_new_task(paused, entries=[an_entry(paused, state=EntryState.ASLEEP)], status=status),
        a_new_task(follower, entries=[]),
        a_new_task(system, entries=[an_entry(system, due=NOON + 100 * 365 * DAY)]),
        a_new_task(foreign, runs=[an_ended_run(foreign)]),
    ]


def _run_of_task(task: Any, place: int) -> Any:
    return an_ended_run(task, planned=NOON - place * HOUR, result_json='"done"')


def _run_of(facts: Facts) -> Any:
    return _run_of_task(facts.task, 0)


def _write(record: Record) -> RecordWrite:
    return RecordWrite(record)


async def fill_target(store: FullStore) -> None:
    """Another owner lives there, with events of its own."""
    task = a_task(owner="cyd")
    await store.add([a_new_task(task, entries=[an_entry(task, due=NOON + MINUTE)])])
    await store.change(task.id, None, always(Change(events=(an_event(task),) * 5)))


async def start_run(store: FullStore, facts: Facts) -> None:
    await store.change(facts.task.id, None, always(Change(new_runs=(a_run(facts.task, planned=NOON + HOUR),))))


async def end_runs(store: FullStore, owner: str = OWNER) -> None:
    for facts in (await store.tasks(TaskFilter(owner))).items:
        ended = tuple(run._replace(state=RunState.SUCCEEDED, ended=NOON + HOUR) for run in facts.live)
        if ended:
            await store.change(facts.task.id, None, always(Change(updated_runs=ended)))


def mover(
    source: FullStore,
    target: FullStore,
    keys: tuple[Cipher, Cipher] | None = None,
    *,
    on_step: StepCallback = lambda _step: None,
    patience: timedelta = timedelta(0),
    names: tuple[str, str] = ("north", "south"),
) -> OwnerMover:
    here, there = keys or (KEYS[0], KEYS[1])
    return OwnerMover(
        Deployment(names[0], source, here),
        Deployment(names[1], target, there),
        OWNER,
        CLOCK,
        patience=patience,
        on_step=on_step,
    )


KEYS: Final = (Key.random("north"), Key.random("south"))


async def read_owner(store: FullStore, cipher: Cipher, owner: str = OWNER) -> dict[str, Any]:
    """Read everything of an owner, in a form that is equal in both deployments."""
    found: dict[str, Any] = {"tasks": [], "runs": [], "streams": [], "messages": [], "lines": []}
    for name in (owner, f"horae:{owner}"):
        for facts in (await store.tasks(TaskFilter(name))).items:
            found["tasks"].append(facts._replace(lanes=(), block_reason=None))
        runs = (await store.runs(RunFilter(name))).items
        found["runs"] += runs
        for run in runs:
            found["lines"] += await store.lines(run.id)
        for stream in (await store.streams(name)).items:
            found["streams"].append(await store.stream(name, stream.name))
            page = await store.read_messages(name, stream.name)
            found["messages"] += () if page is None else page.messages
    found["records"] = []
    for kind in ("owner", "token", "webhook", "delivery.due"):
        for record in (await store.records(kind, owner)).items:
            found["records"].append((kind, record.key, "" if kind == "webhook" else record.body))
    vault = SecretVault(store, cipher, CLOCK)
    found["secret"] = await vault.reveal(owner, "KEY")
    found["signing"] = None if owner != OWNER else await vault.reveal("horae:webhook:whk_1", "signing.1")
    found["lanes"] = sorted((lane.name, lane.limit) for lane in await store.lanes() if owner in lane.name)
    return found
