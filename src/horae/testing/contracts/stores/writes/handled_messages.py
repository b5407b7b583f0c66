"""Contract of the records of handled messages: each moved cursor is written down with its run, in the same commit."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final

from .....lifecycle.settle import settle as settle_by_core
from .....model.handled import CURSOR_KIND, HANDLED_KIND, HANDLED_RETENTION, Handled, cursor_key, read_handled, run_key
from .....model.messages import CursorMove, RunWrites
from .....model.outcome import Failed, Outcome, Succeeded
from .....model.run import Run
from .....ports.full_store import FullStore
from ....factories import MINUTE, NOON, a_settlement, a_task
from ..contract import Contract
from ..setup import start_run
from .messages import fill

_CHAT: Final = "chat:1"
_READER: Final = "handled"


def _move(first: int, last: int, at: datetime = NOON) -> CursorMove:
    return CursorMove(_CHAT, _READER, ((first, last),), at)


async def _handled(store: FullStore, run: Run) -> tuple[Handled, ...]:
    key = run_key(run.id)
    page = await store.records(HANDLED_KIND, "ada", key)
    return read_handled(each for each in page.items if each.key.startswith(key))


async def _mover(store: FullStore) -> str | None:
    """Return the run that moved the cursor to where it is."""
    state = await store.stream("ada", _CHAT)
    assert state is not None
    (cursor,) = state.cursors
    record = await store.get_record(CURSOR_KIND, cursor_key("ada", _CHAT, cursor), "ada")
    return None if record is None else str(json.loads(record.body))


async def _settle(store: FullStore, run: Run, writes: RunWrites, outcome: Outcome) -> frozenset[str]:
    return await store.settle([a_settlement(run, outcome=outcome, writes=writes)], settle_by_core)


class HandledMessagesContract(Contract):
    async def _chat(self, store: FullStore) -> Run:
        run = await start_run(store, a_task(owner="ada"))
        await fill(store, 9)
        await store.register_reader("ada", _CHAT, _READER, 0, NOON)
        return run

    async def test_a_run_knows_the_messages_over_which_it_moved_cursors(self, store: FullStore) -> None:
        """Only what moved the cursor: numbers behind it, and behind a hole, are not handled by this run."""
        run = await self._chat(store)
        assert (await _handled(store, run), await _mover(store)) == ((), None)
        writes = RunWrites(moves=(CursorMove(_CHAT, _READER, ((1, 3), (5, 6)), NOON + MINUTE),))
        assert await _settle(store, run, writes, Succeeded()) == frozenset()
        assert await _handled(store, run) == (Handled(_CHAT, _READER, 1, 3),)
        assert await _mover(store) == run.id
        later = await start_run(store, a_task(owner="ada"))
        await _settle(store, later, RunWrites(moves=(_move(2, 4, NOON + 2 * MINUTE),)), Succeeded())
        assert await _handled(store, later) == (Handled(_CHAT, _READER, 4, 4),)
        assert await _handled(store, run) == (Handled(_CHAT, _READER, 1, 3),)
        assert await _mover(store) == later.id

    async def test_commits_of_a_live_run_are_written_down_too(self, store: FullStore) -> None:
        run = await self._chat(store)
        for first, last in ((1, 2), (3, 3), (3, 3), (4, 4)):
            assert await store.commit_writes(run.id, run.token, RunWrites(moves=(_move(first, last),)))
        assert await _handled(store, run) == (Handled(_CHAT, _READER, 1, 4),)
        assert await _mover(store) == run.id
        await _settle(store, run, RunWrites(moves=(_move(5, 5),)), Succeeded())
        assert await _handled(store, run) == (Handled(_CHAT, _READER, 1, 5),)

    async def test_a_move_that_is_not_written_is_not_written_down(self, store: FullStore) -> None:
        run = await self._chat(store)
        assert not await store.commit_writes(run.id, run.token + 1, RunWrites(moves=(_move(1, 2),)))
        await _settle(store, run, RunWrites(moves=(_move(1, 2),)), Failed("no"))
        assert (await _handled(store, run), await _mover(store)) == ((), None)

    async def test_a_reader_that_is_registered_again_has_no_run(self, store: FullStore) -> None:
        run = await self._chat(store)
        await store.commit_writes(run.id, run.token, RunWrites(moves=(_move(1, 2, NOON + MINUTE),)))
        assert await store.remove_reader("ada", _CHAT, _READER)
        await store.register_reader("ada", _CHAT, _READER, 2, NOON + 2 * MINUTE)
        assert await _mover(store) is None
        await store.commit_writes(run.id, run.token, RunWrites(moves=(_move(3, 3, NOON + 3 * MINUTE),)))
        assert await _mover(store) == run.id

    async def test_records_of_handled_messages_expire(self, store: FullStore) -> None:
        run = await self._chat(store)
        await _settle(store, run, RunWrites(moves=(_move(1, 2),)), Succeeded())
        assert await store.drop_expired(NOON + HANDLED_RETENTION - timedelta(seconds=1), 100) == 0
        assert await store.drop_expired(NOON + HANDLED_RETENTION, 100) == 2
        assert (await _handled(store, run), await _mover(store)) == ((), None)
