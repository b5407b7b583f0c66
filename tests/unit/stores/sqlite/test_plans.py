"""A statement is compiled once, whatever is bound to it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import apsw

from horae.model.limits import CLAIM_SLICE
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.link import Link
from horae.testing.contracts.scenes import claim_all, keep, settle
from horae.testing.factories import NOON, a_node, a_task
from tests.unit.stores.sqlite.opening import with_store


def test_nothing_is_compiled_again_because_of_what_is_bound(tmp_path: Path) -> None:
    """SQLite would, to find a better plan for each value; that costs several times what the statement does."""
    compiled_again: Counter[str] = Counter()
    seen = 0

    def note(event: dict[str, Any]) -> None:
        nonlocal seen
        seen += 1
        compiled_again[event["sql"]] += event["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"]

    def watch(link: Link) -> None:
        link.connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)

    async def scene(store: SQLiteStore) -> None:
        await store.join(a_node())
        await store._writer.do(watch)
        for place in range(3):
            owners = [a_task(owner=f"owner {each}", priority=each % 5) for each in range(CLAIM_SLICE + 1)]
            await keep(store, *owners, a_task(lane="kitchen"))
            for each in await claim_all(store):
                await settle(store, each.run)
            await store.extend("node-1", NOON)
            await store.set_lane("kitchen", place + 1)

    with_store(tmp_path, scene)
    assert seen > 1_000
    assert +compiled_again == Counter()
