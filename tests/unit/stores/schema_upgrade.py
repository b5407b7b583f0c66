"""Stores of the schema before the table renames, with all data as the older version read it.

`tests/data/upgrade` holds the rows as INSERT statements, and as JSON what the version that wrote them read through its
store. The migrations up to that schema create the tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from horae.lifecycle.settle import settle as decide_settlement
from horae.model.ids import from_microseconds
from horae.model.outcome import Settlement, Succeeded
from horae.ports.full_store import FullStore
from horae.ports.store import TaskFilter
from horae.testing.contracts.stores.writes.transfer import read_all_parts
from horae.testing.factories import NOON
from horae.transfer.digest import encode_canonical

DATA: Final = Path(__file__).parents[2] / "data" / "upgrade"
NODES: Final = ("node-1", "node-2")
_HOURS: Final = range(int(NOON.timestamp()) // 3600 - 30, int(NOON.timestamp()) // 3600 + 3)


NEWER_TABLES: Final = {
    "standings": "task_state",
    "barred": "blocked_owners",
    "remembered": "metadata",
    "seats": "lane_slots",
}
"""New names of renamed tables, by their older names."""
_NEWER_COLUMNS: Final = {
    ("agenda", "stand"): "state",
    ("lanes", "seats"): "slot_limit",
    (
        "standings",
        "live",
    ): "(SELECT group_concat(seq, ',' ORDER BY id) FROM {newer}runs WHERE live = 1 AND runs.task = task_state.task)",
}
"""Expressions for columns of an older version."""


_NEWER_PARTS: Final = {"remembered": "metadata", "barred": "blocked_owners", "tallies": "counters"}
"""New names of the parts of a transfer, by their older names."""

_NEWER_FIELDS: Final = [None]
"""Fields of entries and runs that the older version did not have: the input."""


def copy_statement(table: str, columns: list[str], older: str, newer: str) -> str:
    """Return the statement that copies a table of this version into one of an older version; both by their prefixes."""
    source = ", ".join(_NEWER_COLUMNS.get((table, name), name).format(newer=newer) for name in columns)
    rows = f"SELECT {source} FROM {newer}{NEWER_TABLES.get(table, table)}"  # noqa: S608 - table names
    return f"INSERT INTO {older}{table} ({', '.join(columns)}) {rows}"


def rows_of(store: str) -> str:
    """Return INSERT statements for all rows; `@` stands for the schema or the prefix."""
    return (DATA / f"{store}.sql").read_text(encoding="utf-8")


def read_before(store: str) -> dict[str, Any]:
    """Return the data as the older version read them, with the present name of the one renamed reason, and the fields
    that entries and runs have now."""
    text = (DATA / f"{store}.json").read_text(encoding="utf-8")
    assert text.count('"gate_closed"') == 2, "the run, and the event about it"
    found: dict[str, Any] = json.loads(text.replace('"gate_closed"', '"skipped_by_target"'))
    rows = [*found["part runs"], *(row for facts in found["part tasks"] for row in (*facts[2], *facts[3]))]
    for row in rows:
        row += _NEWER_FIELDS
    for node in (*found["part nodes"], *found["nodes"]):
        node.append([])  # no labels
    return _with_lane_turns(_with_chains(_with_part_names(found)))


def _with_part_names(found: dict[str, Any]) -> dict[str, Any]:
    """Return the data with the present names of the parts of a transfer."""
    for older, newer in _NEWER_PARTS.items():
        found[f"part {newer}"] = found.pop(f"part {older}")
        found["count_parts"][newer] = found["count_parts"].pop(older)
    return found


def _with_lane_turns(found: dict[str, Any]) -> dict[str, Any]:
    """Return the data with what turns, idle runs and rates of lanes added: entries that were never parked again, lanes where
    none waits and no run is idle, and without a rate."""
    for _, _, entries, *_ in found["part tasks"]:
        for entry in entries:
            entry.append(0)
    for lane in found["lanes"]:
        lane += [0, False, [], None, None, None]
    for lane in found["part lanes"]:
        lane += [None, [], None]
    return found


def _with_chains(found: dict[str, Any]) -> dict[str, Any]:
    """Return the data with what chains and messages added: no successors, no place in a chain, no rows."""
    for task, _, entries, live, *_ in found["part tasks"]:
        task.append([])
        for each in (*entries, *live):
            each.append(None)
    for run in found["part runs"]:
        run.append(None)
    found["count_parts"] |= {"chains": 0, "streams": 0, "messages": 0}
    return {**found, "part chains": [], "part streams": [], "part messages": []}


async def read_now(store: FullStore) -> dict[str, Any]:
    """Read the same data from the store of this version."""
    found = {
        **{f"part {part.value}": items for part, items in (await read_all_parts(store)).items()},
        "next_due": await store.next_due(),
        "lanes": await store.lanes(),
        "nodes": await store.nodes(),
        "counts": {
            str(owner): sorted([*key, number] for key, number in (await store.counts(owner, [0, *_HOURS])).items())
            for owner in (None, "ada", "bob")
        },
        "held": {node: await store.held(node) for node in NODES},
        "check": await store.check(),
        "count_parts": {part.value: number for part, number in (await store.count_parts()).items()},
        "labels": [each.task.id for each in (await store.tasks(TaskFilter(labels=(("room", "a"),)))).items],
        "last_event": await store.last_event(),
    }
    decoded: dict[str, Any] = json.loads(encode_canonical(found))
    return decoded


async def settle_all_held(store: FullStore) -> None:
    """End every run that a node held during the upgrade: the tokens of the older version still count."""
    held = [each for node in NODES for each in await store.held(node)]
    now = from_microseconds(0)
    runs = [run for each in held if (run := await store.run(each[0], None)) is not None]
    assert len(runs) == len(held) > 0
    now = max(run.planned for run in runs)
    settled = [Settlement(run.id, run.token, Succeeded(), run.started or now, now) for run in runs]
    assert await store.settle(settled, decide_settlement) == frozenset()
    assert [await store.held(node) for node in NODES] == [(), ()]
    assert await store.check() == ()
