"""Results of predecessors: name, run, state and result, cut to one limit."""

from __future__ import annotations

import json

from horae.model.limits import PREVIOUS_BYTES
from horae.model.origin import ChainPlace
from horae.model.run import RunState
from horae.ports.previous import load_previous, render_previous
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, SECOND, a_new_task, a_run, a_task, an_ended_run


def test_small_results_are_whole() -> None:
    run = an_ended_run(a_task(), result_json='{"files": 3}')
    assert json.loads(render_previous([run], {run.task_id: "backup"})) == [
        {"name": "backup", "run": run.id, "state": "succeeded", "result": {"files": 3}, "error": None}
    ]


def test_large_results_are_cut_with_a_mark_and_small_ones_stay() -> None:
    small = an_ended_run(a_task(), result_json='"ok"')
    large = [an_ended_run(a_task(), result_json=json.dumps('"' * 30_000 + "漢" * 5_000)) for _ in range(3)]
    text = render_previous([small, *large], {})
    assert len(text.encode()) <= PREVIOUS_BYTES
    first, *cut = json.loads(text)
    assert (first["result"], "cut" in first) == ("ok", False)
    assert all(each["cut"] is True and isinstance(each["result"], str) for each in cut)
    assert [each["run"] for each in cut] == [run.id for run in large]


async def test_previous_is_read_from_the_ledger_of_the_same_owner() -> None:
    store = MemoryStore()
    mine, foreign = a_task(name="mine"), a_task(owner="bob")
    failed = an_ended_run(mine, state=RunState.FAILED, error="it broke")
    hidden = an_ended_run(foreign, planned=NOON + SECOND)
    await store.add([a_new_task(mine, runs=[failed]), a_new_task(foreign, runs=[hidden])])
    place = ChainPlace(failed.root, (failed.id, hidden.id, "run_gone"))
    (only,) = json.loads(await load_previous(store, a_run(a_task(), chain=place)))
    assert (only["name"], only["state"], only["error"]) == ("mine", "failed", "it broke")
    assert json.loads(await load_previous(store, a_run(a_task()))) == []
