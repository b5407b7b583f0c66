"""Sample contents for transfer tests: every kind of row, with every field set somewhere."""

from __future__ import annotations

from .....model.chain_row import Arrival, ChainRow, ChainState
from .....model.change import Change
from .....model.entry import EntryKind, EntryState
from .....model.inputs.run_input import RunInput
from .....model.lanes.lane import owner_lane
from .....model.messages import KeepRules, NewMessage, Stream
from .....model.origin import ChainPlace, Origin, RootOccurrence
from .....model.reason import Reason
from .....model.run import Run, RunState, Span
from .....model.task import Pause, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.journal import Line
from .....ports.records import Record
from .....schedule import After, Link
from ....decisions import start_within_lanes
from ....factories import (
    DAY,
    HOUR,
    MICROSECOND,
    MINUTE,
    NOON,
    a_new_task,
    a_node,
    a_run,
    a_task,
    an_ended_run,
    an_entry,
    an_extra_entry,
)
from ..setup import add_tasks, claim_all, settle


async def fill_store(store: FullStore) -> None:
    """Fill a store with every kind of row, each field set in at least one of them."""
    await store.join(a_node(host="花园", load=3, capacity=8, offset=MICROSECOND, draining=True))
    await store.set_lane("press", 2)
    await store.set_lane(owner_lane("ada"), 50)
    await store.block_owner("bob", Reason.OWNER_REVOKED)
    await store.write_metadata("tzdata", "2026.1")
    await store.put_record(Record("token", "b", "ada", '{"text":"漢字 🌱"}'), replacing=None)
    await store.put_record(Record("token", "b", "ada", '{"text":"again"}'), replacing=1)
    await store.put_record(Record("group", "b", "", "null"), replacing=None)
    await store.put_record(Record("answer", "b", "ada", "{}", expires=NOON + DAY + MICROSECOND), replacing=None)
    # Added in reverse order of their ids: the list order of tasks is the order of insertion.
    await add_tasks(
        store, *reversed([a_task(lane="press" if place % 2 else None, key=f"{place}") for place in range(9)])
    )
    runs = [each.run for each in await claim_all(store, decide=start_within_lanes())]
    await store.write_lines([Line(run.id, NOON, "info", f"{place} '漢字'") for run in runs for place in range(3)])
    await settle(store, *runs[::2])
    await store.add(_uncommon_states())
    await _fill_streams(store)
    await store.change(_linked(runs[1]).task_id, None, lambda _: Change(chain_rows=(_linked(runs[1]),)))


async def _fill_streams(store: FullStore) -> None:
    for owner in ("bob", "ada"):
        messages = [NewMessage("chat:1", f"{place} 漢", "Ada", "web", f"{place}", NOON, '["a"]') for place in range(5)]
        await store.append_messages(owner, messages)
    await store.put_stream(Stream("ada", "empty", NOON, keep=7, keep_for=DAY + MICROSECOND))
    await store.register_reader("ada", "chat:1", "handled", 3, NOON + MICROSECOND)
    await store.trim_messages(NOON, KeepRules(keep=3), 100)


def _linked(run: Run) -> ChainRow:
    """The row of the run's task for a root occurrence of another one."""
    arrivals = (Arrival("tsk_first", RunState.SUCCEEDED, "run_1"), Arrival("tsk_second", RunState.SKIPPED))
    return ChainRow(
        run.task_id, run.root, NOON, ChainState.FIRED, ("tsk_first", "tsk_second"), arrivals, NOON + MICROSECOND, 2
    )


def _uncommon_states() -> list[Change]:
    """Tasks in states that the claims above do not produce."""
    paused = a_task(owner="bob", labels=(("source", "import"), ("b", "ü")), version=7, priority=-5)
    pause = Pause(NOON, note="旧", until=NOON + DAY)
    status = TaskStatus(TaskState.PAUSED, 3, 2, 1, NOON, '"last"', pause, Reason.PAUSED)
    asleep = an_entry(
        paused, due=NOON + HOUR, state=EntryState.ASLEEP, span=Span(NOON, NOON + HOUR, 2), through=NOON + DAY
    )
    ended = an_ended_run(
        paused,
        planned=NOON - HOUR,
        result_json='"漢"',
        deadline=NOON,
        forgiven=1,
        deaths=1,
        alone=True,
        input=RunInput("merge", '{"漢":null}', "bot"),
    )
    skipped = an_ended_run(
        paused,
        planned=NOON - DAY,
        state=RunState.SKIPPED,
        reason=Reason.MERGED,
        started=None,
        node=None,
        span=Span(NOON - DAY, NOON - HOUR, 24),
        error="none",
    )
    careful = a_task(owner="cyd")
    claimed = a_run(careful, state=RunState.CLAIMED, started=None, token=2, cancel=Reason.CANCELLED)
    waiting = a_run(careful, planned=NOON - MINUTE, state=RunState.WAITING, node=None, deadline=NOON + HOUR)
    waiting = waiting._replace(input=RunInput("replace", "{}"))
    extra = an_extra_entry(careful, due=NOON + MINUTE, run_id=waiting.id, in_order=True, waited=True, attempt=3)
    extra = extra._replace(input=RunInput("replace", "[1.50]"))
    place = ChainPlace(RootOccurrence(paused.id, Origin.MANUAL, NOON), (ended.id, claimed.id), fires=False)
    linked = a_task(owner="cyd")
    follower = a_task(owner="cyd", schedule=After((Link(linked.id, "ended"),)))
    chained = an_entry(linked, origin=Origin.CHAIN, kind=EntryKind.CHAIN, slot="chain", chain=place)
    live = a_run(linked, origin=Origin.CHAIN, chain=place)
    over = an_ended_run(linked, planned=NOON - HOUR, origin=Origin.CHAIN, chain=place)
    return [
        a_new_task(paused, entries=[asleep], status=status, runs=[ended, skipped]),
        a_new_task(careful, entries=[extra], runs=[claimed, waiting]),
        a_new_task(linked, entries=[chained], runs=[live, over]),
        a_new_task(follower, entries=[]),
    ]
