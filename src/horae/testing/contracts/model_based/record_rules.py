"""Rules of the store machine for records: alone, in batches, and attached to other writes."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....model.reason import Reason
from ....ports.records import Record, RecordWrite
from .machine_state import MachineState
from .paired_stores import all_pages
from .strategies import KEYS, LANES, NODES, OWNERS, attached_records


class RecordRules(MachineState):
    @rule(key=st.sampled_from(KEYS), owner=st.sampled_from(OWNERS), replacing=st.sampled_from((None, 1, 2)))
    def write_record(self, key: str, owner: str, replacing: int | None) -> None:
        record = Record("token", key, owner, f'"{self._created}"')
        self._call_both(lambda side: side.store.put_record(record, replacing=replacing))
        self._call_both(lambda side: side.store.get_record("token", key, owner))
        self._call_both(lambda side: all_pages(lambda after: side.store.records("token", None, after, 1)))
        self._call_both(lambda side: side.store.drop_record("token", key, 2))
        for newest in (False, True):
            self._call_both(
                lambda side, newest=newest: all_pages(  # type: ignore[misc]
                    lambda after: side.store.records("token", owner, after, 1, newest=newest)
                )
            )
        self._call_both(lambda side: side.store.read_metadata("zones"))
        self._call_both(lambda side: side.store.write_metadata("zones", key))

    @rule(written=attached_records, limit=st.integers(1, 2))
    def write_records(self, written: tuple[RecordWrite, ...], limit: int) -> None:
        self._call_both(lambda side: side.store.write_records(written))
        self._call_both(lambda side: side.store.drop_expired(self._now, limit))

    @rule(
        written=attached_records,
        lane=st.sampled_from(LANES),
        owner=st.sampled_from(OWNERS),
        node=st.sampled_from(NODES),
    )
    def write_attached_records(self, written: tuple[RecordWrite, ...], lane: str, owner: str, node: str) -> None:
        """A refused call must leave no trace; the first write may make the later ones conflict."""
        limited = self._call_both(lambda side: side.store.set_lane(lane, 2, attached_records=written))
        if limited is None:
            self._limits[lane] = 2
        blocked = self._call_both(lambda side: side.store.block_owner(owner, Reason.QUOTA, attached_records=written))
        if blocked is None:
            self._call_both(lambda side: side.store.block_owner(owner, None))
        self._call_both(lambda side: side.store.drain(node, attached_records=written[:1]))
        self._call_both(lambda side: side.store.drain(node, draining=False))
