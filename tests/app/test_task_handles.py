"""`app.tasks`, `app.get` and task handles: find, edit, run now, retry, wait."""

from __future__ import annotations

import pytest

from horae import Conflict, InvalidTask, NotFound
from horae.lifecycle.explain.explanation import Verdict
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.testing.factories import HOUR, MINUTE, NOON
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app


async def test_tasks_are_found_by_state_label_and_text(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    async with app:
        one = await app.schedule({"say": "1"}, "every 1h", name="Morning report", labels={"team": "a"})
        two = await app.schedule({"say": "2"}, "every 1h", name="evening report", labels={"team": "b"})
        await two.pause("holidays")
        assert {task.id for task in await app.tasks()} == {one.id, two.id}
        assert [task.id for task in await app.tasks(state="paused")] == [two.id]
        assert [task.id for task in await app.tasks(labels={"team": "a"})] == [one.id]
        assert [task.id async for task in app.tasks(text="MORNING", limit=1)] == [one.id]
        assert len(await app.tasks(text="REPORT", limit=1)) == 1
        assert await app.tasks(state=["failed", "cancelled"]) == []
        with pytest.raises(InvalidTask):
            app.tasks(state="asleep")


async def test_task_is_found_by_id_name_key_or_prefix(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    async with app:
        one = await app.schedule({"say": "1"}, "every 1h", name="backup", key="nightly")
        for name in (one.id, "backup", "nightly", "back", one.id[:20]):
            assert (await app.get(name)).id == one.id, name
        await app.schedule({"say": "2"}, "every 1h", name="backup")
        with pytest.raises(Conflict) as refusal:
            await app.get("backup")
        assert refusal.value.code == "ambiguous_name"
        with pytest.raises(NotFound):
            await app.get("nothing like it")


async def test_edit_returns_removed_and_added_fires_and_fires_nothing_for_the_past(clock: VirtualClock) -> None:
    app = an_app(clock)
    async with app:
        task = await app.schedule({"say": "1"}, "every 1h")
        await clock.pause(90 * 60)
        before = await task.runs()
        looked = await task.edit(when="every 10m", dry_run=True)
        assert (await task.facts()).task.version == 1
        edited = await task.edit(when="every 10m", retries=1)
        assert looked.fires == edited.fires
        assert edited.fires.removed == (), "every hour is among every ten minutes"
        assert edited.fires.added[0] == NOON + 100 * MINUTE
        assert await task.runs() == before, "nothing fires for the past"
        assert (await task.facts()).task.policies.retry.attempts == 2
        assert await task.next(2) == [NOON + 100 * MINUTE, NOON + 110 * MINUTE]


async def test_run_now_can_be_awaited_and_does_not_move_the_schedule(clock: VirtualClock) -> None:
    app = an_app(clock)
    async with app:
        task = await app.schedule({"say": "1"}, "every 1h")
        run = await task.run_now()
        ended = await run.wait("1m")
        assert (ended.id, ended.state) == (run.id, RunState.SUCCEEDED)
        assert ended.value == {"delivered": 0, "to": {}}
        assert [line.text for line in await run.lines()] == ["1"]
        assert await task.next() == [NOON + HOUR]
        with pytest.raises(Conflict) as refusal:
            await run.cancel()
        assert refusal.value.code == "run_over"
        with pytest.raises(Conflict) as refusal:
            await run.retry()
        assert refusal.value.code == "nothing_to_retry"


async def test_manual_retry_of_a_failed_run_has_the_same_key(clock: VirtualClock) -> None:
    keys: list[str] = []

    app = an_app(clock)
    from horae import Context, Fail  # noqa: PLC0415 - the names are resolved where the function is

    @app.task
    async def work(ctx: Context) -> str:
        keys.append(ctx.key)
        if len(keys) == 1:
            raise Fail("the disk is full")
        return "done"

    async with app:
        task = await app.schedule(work, "in 1m")
        failed = await task.wait("1h")
        assert failed.state is RunState.FAILED
        assert await task.state() is TaskState.FAILED
        await (await app.get_run(failed.id)).retry()
        again = await task.wait("1h")
        assert (again.state, again.attempt, again.planned) == (RunState.SUCCEEDED, 2, failed.planned)
        assert len(set(keys)) == 1


async def test_wait_is_refused_for_a_task_paused_without_an_end(clock: VirtualClock) -> None:
    app = an_app(clock)
    async with app:
        task = await app.schedule({"say": "1"}, "every 1h")
        await task.pause("holidays")
        with pytest.raises(Conflict) as refusal:
            await task.wait()
        assert refusal.value.code == "task_paused"
        assert (await task.why("13:00")).verdict is Verdict.PAUSED
        await task.resume()
        with pytest.raises(TimeoutError, match="within 5 s"):
            await task.wait("5s")
