"""State machine of message streams: makes the same calls on a store and on the in-memory store and compares every answer.

Runs of two owners send, acknowledge and attach records; some of them are stale, some fail. A subclass implements
`open_empty`, as for `machine.py`.
"""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from ....lifecycle.plan import Draft, plan
from ....lifecycle.settle import settle
from ....model.change import Change
from ....model.handled import CURSOR_KIND, HANDLED_KIND
from ....model.ids import ENTROPY_BYTES, make_id
from ....model.messages import (
    DEFAULT_QUOTA,
    PAGE_MESSAGES,
    CursorMove,
    Gap,
    KeepRules,
    MessagePage,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamState,
)
from ....model.outcome import Outcome, Settlement
from ....model.policy import Policies
from ....model.record import RecordWrite
from ....model.task import Target
from ....ports.full_store import FullStore
from ....ports.store import RunFilter
from ....schedule import Every
from ....stores.memory import MemoryStore
from ...factories import DAY, HOUR, MINUTE, NOON, SECOND
from .paired_stores import PairedStores, Side, all_pages
from .run_rules import RunRules
from .strategies import NODES, OWNERS, numbers, optional_records, outcomes, steps

STREAMS: Final = ("chat:1", "Chat:1")
READERS: Final = ("handled", "summary")
_PAGE: Final = 1_000
_POLICIES: Final = Policies(overlap="parallel", give_up_after=None)

streams: Final = st.sampled_from(STREAMS)
owners: Final = st.sampled_from(OWNERS)
readers: Final = st.sampled_from(READERS)
positions: Final = st.integers(0, 12)
quotas: Final = st.sampled_from((DEFAULT_QUOTA, DEFAULT_QUOTA, StreamQuota(1), StreamQuota(2, 60)))
# Few ids, so that many messages are repetitions.
messages: Final = st.lists(
    st.builds(
        NewMessage,
        stream=streams,
        text=st.sampled_from(("hello", "漢字 🌱", "x" * 30)),
        sender=st.sampled_from(("Ada", "bot")),
        source=st.sampled_from(("web", "run")),
        source_id=st.integers(1, 12).map(str),
        at=st.sampled_from((NOON, NOON + MINUTE, NOON + DAY)),
        references=st.sampled_from(("[]", '[{"url":"https://example.com"}]')),
    ),
    min_size=1,
    max_size=4,
)
ranges: Final = st.lists(
    st.tuples(positions, st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=3
)
moves: Final = st.lists(
    st.builds(
        CursorMove,
        stream=streams,
        reader=readers,
        acknowledged=ranges.map(tuple),
        at=st.sampled_from((NOON, NOON + DAY)),
    ),
    max_size=2,
)
writes: Final = st.builds(
    RunWrites,
    records=optional_records,
    messages=st.one_of(st.just([]), messages).map(tuple),
    moves=moves.map(tuple),
)
rules: Final = st.builds(
    KeepRules,
    keep=st.sampled_from((1, 2, 100)),
    keep_for=st.sampled_from((HOUR, 40 * DAY)),
    keep_read_for=st.sampled_from((SECOND, HOUR, 40 * DAY)),
)


class MessageMachine(RunRules):
    @initialize()
    def begin(self) -> None:
        self._handles = [self._run(self.open_empty())]
        self._stores = PairedStores(MemoryStore(), self._handles[0], is_optimistic=self.is_optimistic)
        self.join(NODES[0])
        planned = [self._plan(owner) for owner in OWNERS]
        self._call_both(lambda side: side.store.add(planned))
        self._advance_to_next_due()
        self._claim(NODES[0], _PAGE)

    def _plan(self, owner: str) -> Change:
        self._created += 1
        task_id = make_id("tsk", NOON, self._created.to_bytes(ENTROPY_BYTES))
        self._task_ids.append(task_id)
        target = Target("function", '{"name":"garden.water"}')
        return plan(Draft(owner, "handle", Every(interval=MINUTE), target, "{}", _POLICIES), task_id, NOON)

    def teardown(self) -> None:
        for store in self._handles:
            self._run(self.close(store))
        self._runner.close()

    @rule(step=steps)
    def advance_clock(self, step: timedelta) -> None:
        self._now += step

    # --- streams ---------------------------------------------------------------------------------------------------

    @rule(owner=owners, given=messages, quota=quotas, attached=optional_records)
    def append(
        self, owner: str, given: list[NewMessage], quota: StreamQuota, attached: tuple[RecordWrite, ...]
    ) -> None:
        self._call_both(lambda side: side.store.append_messages(owner, given, quota, attached))

    @rule(owner=owners, given=messages)
    def append_often(self, owner: str, given: list[NewMessage]) -> None:
        """Raises the share of streams with messages."""
        self._call_both(lambda side: side.store.append_messages(owner, given))

    @rule(owner=owners, stream=streams, after=positions, limit=st.integers(1, 4), reader=st.none() | readers)
    def read(self, owner: str, stream: str, after: int, limit: int, reader: str | None) -> None:
        self._call_both(lambda side: side.store.read_messages(owner, stream, after, limit, reader))
        self._call_both(lambda side: all_pages(lambda page: side.store.streams(None, page, 1)))

    @rule(owner=owners, stream=streams, reader=readers, after=st.none() | positions, attached=optional_records)
    def register(
        self, owner: str, stream: str, reader: str, after: int | None, attached: tuple[RecordWrite, ...]
    ) -> None:
        now = self._now
        self._call_both(lambda side: side.store.register_reader(owner, stream, reader, after, now, attached))

    @rule(owner=owners, stream=streams, reader=readers, after=st.integers(0, 2))
    def register_and_read(self, owner: str, stream: str, reader: str, after: int) -> None:
        """Raises the share of reads from a cursor with messages after it."""
        now = self._now
        self._call_both(lambda side: side.store.register_reader(owner, stream, reader, after, now))
        self._call_both(lambda side: side.store.read_messages(owner, stream, reader=reader))

    @rule(owner=owners, stream=streams, reader=readers, attached=optional_records)
    def unregister(self, owner: str, stream: str, reader: str, attached: tuple[RecordWrite, ...]) -> None:
        self._call_both(lambda side: side.store.remove_reader(owner, stream, reader, attached))

    @rule(owner=owners, stream=streams, keep=st.sampled_from((None, 1, 3)), keep_for=st.sampled_from((None, HOUR)))
    def set_caps(self, owner: str, stream: str, keep: int | None, keep_for: timedelta | None) -> None:
        given = Stream(owner, stream, self._now, keep=keep, keep_for=keep_for)
        self._call_both(lambda side: side.store.put_stream(given))

    @rule(owner=owners, stream=streams, attached=optional_records)
    def delete(self, owner: str, stream: str, attached: tuple[RecordWrite, ...]) -> None:
        self._call_both(lambda side: side.store.delete_stream(owner, stream, attached))

    @rule(given=rules, limit=st.sampled_from((1, 2, 100)))
    def trim(self, given: KeepRules, limit: int) -> None:
        self._call_both(lambda side: side.store.trim_messages(self._now, given, limit))

    # --- writes of runs --------------------------------------------------------------------------------------------

    @rule(chosen=numbers, given=writes)
    def commit(self, chosen: int, given: RunWrites) -> None:
        ((run_id, claim),) = self._some_runs([chosen])
        self._call_both(lambda side: side.store.commit_writes(run_id, side.token(claim, run_id), given))

    @rule(chosen=numbers, reader=readers, given=messages, last=st.integers(1, 3))
    def handle(self, chosen: int, reader: str, given: list[NewMessage], last: int) -> None:
        """A run reads its streams and moves the cursors: otherwise hardly any cursor would move."""
        live = self._live_runs()
        if not live:
            return
        run, now = live[chosen % len(live)], self._now
        claim = next((number for run_id, number in self._claimed if run_id == run.id), 0)
        self._call_both(lambda side: side.store.append_messages(run.owner, given))
        names = sorted({message.stream for message in given})
        for name in names:
            self._call_both(partial(_register, owner=run.owner, stream=name, reader=reader, now=now))
        moved = RunWrites(moves=tuple(CursorMove(name, reader, ((1, last),), now) for name in names))
        self._call_both(lambda side: side.store.commit_writes(run.id, side.token(claim, run.id), moved))

    @rule(chosen=numbers, given=writes, outcome=outcomes)
    def settle_with_writes(self, chosen: int, given: RunWrites, outcome: Outcome) -> None:
        ((run_id, claim),) = self._some_runs([chosen])
        now = self._now

        def call(side: Side) -> Coroutine[Any, Any, frozenset[str]]:
            settlement = Settlement(run_id, side.token(claim, run_id), outcome, now, now, None, given)
            return side.store.settle([settlement], side.record_settle(settle))

        self._call_both(call)

    @rule()
    def reopen(self) -> None:
        """Replace the handle by a new one: acknowledged writes must be there."""
        old = self._handles[0]
        new = self._run(self.another(old))
        if new is not old:
            self._run(self.close(old))
            self._handles[0] = self._stores.store.store = new

    # --- invariants ------------------------------------------------------------------------------------------------

    @invariant()
    def streams_are_equal(self) -> None:
        self._run(self._stores.call(_read_streams))


def _register(side: Side, *, owner: str, stream: str, reader: str, now: datetime) -> Coroutine[Any, Any, Any]:
    return side.store.register_reader(owner, stream, reader, 0, now)


async def _read_streams(side: Side) -> dict[str, Any]:
    store = side.store
    assert await store.check() == ()
    events = await store.events(side.last_event, limit=_PAGE)
    side.last_event = max([side.last_event, *(each.number for each in events)])
    return {
        "streams": [await _read_stream(store, each) for each in (await store.streams(None, None, _PAGE)).items],
        "usage": [await store.stream_usage(owner) for owner in OWNERS],
        "runs": (await store.runs(RunFilter(), limit=_PAGE)).items,
        "records": (await store.records("token", limit=_PAGE)).items,
        # A batch of settlements may be several transactions: the order of the events of one task is fixed, no other.
        "events": sorted((each.event for each in events), key=lambda event: event.task_id),
        "handled": (await store.records(HANDLED_KIND, limit=_PAGE)).items,
        "moved cursors": (await store.records(CURSOR_KIND, limit=_PAGE)).items,
    }


async def _read_stream(store: FullStore, stream: Stream) -> tuple[StreamState | None, MessagePage | None]:
    state = await store.stream(stream.owner, stream.name)
    page = await store.read_messages(stream.owner, stream.name, 0, PAGE_MESSAGES)
    assert state is not None
    assert page is not None
    numbers_of_page = [message.number for message in page.messages]
    assert numbers_of_page == list(range(stream.first, stream.last + 1)), "numbers have no holes"
    assert all(cursor.number <= stream.last for cursor in state.cursors), "a cursor is beyond the end"
    return state._replace(gaps=_unpassed(state, state.gaps)), page._replace(gaps=_unpassed(state, page.gaps))


def _unpassed(state: StreamState, gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Leave out the gaps that every reader has passed: a store drops them when it next removes messages of the stream."""
    if not state.cursors:
        return gaps
    passed = min(cursor.number for cursor in state.cursors)
    return tuple(gap for gap in gaps if gap.last > passed)
