"""Runs as a program sees them: result values and their JSON, lists of runs, and `repr`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from horae import Horae, InvalidTask, Run, RunState
from horae.testing import TimeTravel

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def an_app() -> Horae:
    app = Horae("memory://", zone="UTC")

    @app.task("every 1h", name="count")
    async def count() -> dict[str, list[int]]:
        return {"numbers": [1, 2]}

    @app.task("every 1h", name="broken", retries=0, give_up_after="never")
    async def broken() -> None:
        raise ValueError("disk full")

    return app


def test_result_is_the_value_and_result_json_the_text() -> None:
    with TimeTravel(an_app(), START) as time:
        time.travel("1h")
        (run,) = time.runs("count")
        assert run.result == run.value == {"numbers": [1, 2]}
        assert run.result_json == '{"numbers":[1,2]}'
        (failed,) = time.runs("broken")
        assert (failed.result, failed.result_json) == (None, None)
        assert isinstance(run, Run)
        assert run.state is RunState.SUCCEEDED


def test_truncated_result_is_text() -> None:
    run = _run()._replace(result_json='{"numbers":[1,2')
    assert run.result == '{"numbers":[1,2'


def _run() -> Run:
    with TimeTravel(an_app(), START) as time:
        time.travel("1h")
        return time.runs("count")[0]


async def _ids(listing: Any) -> list[str]:
    return [run.id async for run in listing]


async def _list(listing: Any) -> list[Run]:
    return list(await listing)


def test_runs_of_the_app_are_listed_newest_first() -> None:
    app = an_app()
    with TimeTravel(app, START) as time:
        time.travel("3h")
        everything = time.run(_list(app.runs()))
        assert len(everything) == 6
        assert [run.planned for run in everything] == sorted((run.planned for run in everything), reverse=True)
        assert {run.task_id for run in time.run(_list(app.runs("broken")))} == {time.run(app.get("broken")).id}
        assert len(time.run(_list(app.runs(time.run(app.get("count")), limit=2)))) == 2
        assert [run.state for run in time.run(_list(app.runs(state="failed")))] == [RunState.FAILED] * 3
        assert len(time.run(_list(app.runs(since="14:00", until="15:00", state=["succeeded"])))) == 2
        assert time.run(_ids(app.runs(limit=None))) == [run.id for run in everything]


def test_unknown_state_of_a_run_is_refused_with_the_states() -> None:
    with pytest.raises(InvalidTask) as refusal:
        an_app().runs(state="done")
    assert "succeeded" in refusal.value.hint


def test_blocking_app_lists_runs() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="double")(_double)
    with app.sync() as horae:
        task = horae.schedule("double", "now", {"number": 21})
        assert task.wait("30s").result == 42
        assert [run.result for run in horae.runs(task)] == [run.result for run in horae.runs(state="succeeded")] == [42]
        assert "blocking Horae memory://" in repr(horae)


def _double(number: int) -> int:
    return 2 * number


def test_repr_shows_name_state_and_time() -> None:
    app = an_app()
    assert repr(app) == "<Horae memory://, zone UTC, 2 task functions, closed>"
    with TimeTravel(app, START) as time:
        assert repr(app) == "<Horae memory://, zone UTC, 2 task functions, open>"
        task = time.run(app.get("count"))
        assert repr(task) == f"<task 'count' {task.id} of local>"
        handle = time.run(task.run_now())
        assert repr(handle) == f"<run {handle.id} of {task.id}>"
        time.travel("1h")
        (failed,) = time.runs("broken")
        shown = f"<run {failed.id} failed (target_failed), planned 2026-03-01 13:00:00 UTC, attempt 1, error "
        assert repr(failed).startswith(shown)
        assert "disk full" in repr(failed)
        assert repr(time.runs("count")[-1]).endswith(
            'succeeded, planned 2026-03-01 13:00:00 UTC, attempt 1, result {"numbers":[1,2]}>'
        )
        assert "await" in repr(app.runs())
        assert "await" in repr(app.tasks())


def test_repr_of_an_app_hides_the_password() -> None:
    assert "hunter2" not in repr(Horae("postgresql://ada:hunter2@127.0.0.1/shop"))


def test_repr_of_a_long_result_is_short() -> None:
    assert len(repr(_run()._replace(result_json='"' + "x" * 60_000 + '"'))) < 250


def test_task_that_never_gives_up_stays_active() -> None:
    app = an_app()
    with TimeTravel(app, START) as time:
        time.travel("30h")
        task = time.run(app.get("broken"))
        assert len(time.runs(task)) == 30
        assert time.run(task.state()) == "active"
        assert time.run(task.facts()).task.policies.give_up_after is None


async def test_never_is_accepted_where_a_number_has_no_limit() -> None:
    await _check_never()


async def _check_never() -> None:
    """Call with `never` for every limit; mypy checks these calls too."""
    app = Horae("memory://", zone="UTC")
    app.task(name="double", give_up_after="never", retries="never", notify_after="never", max_duration="never")(_double)
    async with app:
        task = await app.schedule("double", "in 1h", {"number": 1}, give_up_after="never")
        await task.edit(give_up_after="never", notify_after="never")
        policies = (await task.facts()).task.policies
        assert (policies.give_up_after, policies.retry.attempts, policies.notify_after) == (None, None, 0)
