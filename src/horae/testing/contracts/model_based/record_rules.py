"""What the machine does with records, alone and beside all else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ....model.reason import Reason
from ....ports.records import Record, RecordWrite
from .paired_stores import Side, all_pages
from .strategies import KEYS, LANES, NODES, OWNERS, notes


class RecordRules(RuleBasedStateMachine):
    """A part of the store machine, which says how both stores are asked."""

    _now: datetime
    _made: int
    _limits: dict[str, int]

    def _ask(self, call: Callable[[Side], Coroutine[Any, Any, Any]]) -> Any:
        raise NotImplementedError

    @rule(key=st.sampled_from(KEYS), owner=st.sampled_from(OWNERS), replacing=st.sampled_from((None, 1, 2)))
    def keep_records(self, key: str, owner: str, replacing: int | None) -> None:
        record = Record("token", key, owner, f'"{self._made}"')
        self._ask(lambda side: side.store.put_record(record, replacing=replacing))
        self._ask(lambda side: side.store.get_record("token", key, owner))
        self._ask(lambda side: all_pages(lambda after: side.store.records("token", None, after, 1)))
        self._ask(lambda side: side.store.drop_record("token", key, 2))
        for newest in (False, True):
            self._ask(
                lambda side, newest=newest: all_pages(  # type: ignore[misc]
                    lambda after: side.store.records("token", owner, after, 1, newest=newest)
                )
            )
        self._ask(lambda side: side.store.read_metadata("zones"))
        self._ask(lambda side: side.store.write_metadata("zones", key))

    @rule(written=notes, limit=st.integers(1, 2))
    def keep_several_records(self, written: tuple[RecordWrite, ...], limit: int) -> None:
        self._ask(lambda side: side.store.write_records(written))
        self._ask(lambda side: side.store.drop_expired(self._now, limit))

    @rule(written=notes, lane=st.sampled_from(LANES), owner=st.sampled_from(OWNERS), node=st.sampled_from(NODES))
    def keep_records_beside_all_else(self, written: tuple[RecordWrite, ...], lane: str, owner: str, node: str) -> None:
        """Whichever is refused must not have happened: the first of them may well leave the others no room."""
        limited = self._ask(lambda side: side.store.set_lane(lane, 2, attached_records=written))
        if limited is None:
            self._limits[lane] = 2
        barred = self._ask(lambda side: side.store.block_owner(owner, Reason.QUOTA, attached_records=written))
        if barred is None:
            self._ask(lambda side: side.store.block_owner(owner, None))
        self._ask(lambda side: side.store.drain(node, attached_records=written[:1]))
        self._ask(lambda side: side.store.drain(node, draining=False))
