"""Contract of output bytes: results, errors and log lines counted by owner, lowered by retention and deletion."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from .....model.change import Change
from .....model.run import RunState
from .....ports.full_store import FullStore
from .....ports.journal import Line
from ....decisions import always
from ....factories import DAY, HOUR, NOON, a_new_task, a_run, a_task, an_ended_run
from ..contract import Contract

_KEEP_ALL = 1_000_000
_TWO_BYTES, _THREE_BYTES = "é", "漢"


class OutputBytesContract(Contract):
    async def test_results_errors_and_lines_count_by_their_utf8_bytes(self, store: FullStore) -> None:
        task = a_task()
        returned = an_ended_run(task, result_json=f'"{_THREE_BYTES * 10}"')
        failed = an_ended_run(task, planned=NOON + HOUR, state=RunState.FAILED, error=_TWO_BYTES * 7)
        silent = an_ended_run(task, planned=NOON + 2 * HOUR)
        await store.add([a_new_task(task, runs=[returned, failed, silent])])
        assert await store.output_bytes("ada") == 32 + 14
        await store.write_lines([Line(returned.id, NOON, "info", text) for text in ("abc", _THREE_BYTES, "")])
        await store.write_lines([Line(silent.id, NOON, "output", "x" * 1_000)])
        assert await store.output_bytes("ada") == 32 + 14 + 6 + 1_000
        async with self.another(store) as other:
            assert await other.output_bytes("ada") == 32 + 14 + 6 + 1_000

    async def test_lines_of_a_run_that_is_still_running_count(self, store: FullStore) -> None:
        task = a_task()
        run = a_run(task)
        await store.add([a_new_task(task, runs=[run, an_ended_run(task, planned=NOON - HOUR, result_json='"a"')])])
        await store.write_lines([Line(run.id, NOON, "info", "x" * 50)])
        assert await store.output_bytes("ada") == 53

    async def test_output_of_other_owners_does_not_count(self, store: FullStore) -> None:
        mine, theirs = a_task(owner="ada"), a_task(owner="bob")
        run, other = an_ended_run(mine, result_json='"a"'), an_ended_run(theirs, result_json='"longer"')
        await store.add([a_new_task(mine, runs=[run]), a_new_task(theirs, runs=[other])])
        await store.write_lines([Line(other.id, NOON, "info", "hello")])
        assert await store.output_bytes("ada") == 3
        assert await store.output_bytes("bob") == 13
        assert await store.output_bytes("cyd") == 0

    async def test_retention_lowers_the_output_bytes(self, store: FullStore) -> None:
        task = a_task()
        old = an_ended_run(task, planned=NOON - 10 * DAY, result_json='"old"')
        new = an_ended_run(task, planned=NOON, result_json='"a"')
        await store.add([a_new_task(task, runs=[old, new])])
        await store.write_lines([Line(run.id, NOON, "info", "hello") for run in (old, new)])
        assert await store.output_bytes("ada") == 18
        assert (await store.trim(NOON - DAY, _KEEP_ALL, 100)).runs == 1
        assert await store.output_bytes("ada") == 8

    async def test_deletion_of_a_task_lowers_the_output_bytes(self, store: FullStore) -> None:
        gone, stays = a_task(), a_task()
        runs = [an_ended_run(task, result_json='"text"') for task in (gone, stays)]
        await store.add([a_new_task(task, runs=[run]) for task, run in zip((gone, stays), runs, strict=True)])
        await store.write_lines([Line(run.id, NOON, "info", "hello") for run in runs])
        assert await store.output_bytes("ada") == 22
        await store.change(gone.id, None, always(Change(deleted=True)))
        assert await store.output_bytes("ada") == 11
