"""`app.schedule`: schedules, payloads, names, keys, lanes and policies; and pause, resume, run, skip and cancel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae import Conflict, Horae, InvalidSchedule, InvalidTask, NotFound
from horae.lifecycle.explain.explanation import Verdict
from horae.model.policy import RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Origin, RunState
from horae.model.task import TaskState
from horae.schedule import Once
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app


@dataclass
class Package:
    to: str
    grams: int = 100


def a_function(app: Horae, **options: Any) -> tuple[Any, list[Any]]:
    """A task function, and what it was called with."""
    calls: list[Any] = []

    @app.task(name="send", **options)
    async def send(package: Package, on: datetime | None = None) -> str:
        calls.append((package, on))
        return f"sent to {package.to}"

    return send, calls


async def test_payload_is_converted_to_the_annotated_types(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "in 20m", {"package": Package("ada"), "on": NOON})
        run = await handle.wait()
    assert calls == [(Package("ada"), NOON)]
    assert (run.state, run.result) == (RunState.SUCCEEDED, "sent to ada")
    assert run.started == NOON + 20 * MINUTE


@pytest.mark.parametrize(
    "payload", [None, {}, {"package": 5}, {"package": {"to": "ada"}, "extra": 1}, {"package": {"grams": 5}}]
)
async def test_payload_that_does_not_match_the_function_is_refused(
    clock: VirtualClock, payload: dict[str, Any] | None
) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        with pytest.raises(InvalidTask) as refusal:
            await app.schedule(send, "now", payload)
        assert refusal.value.code == ("unknown_argument" if payload and "extra" in payload else "bad_arguments")
        assert refusal.value.hint


async def test_function_is_scheduled_by_name(clock: VirtualClock) -> None:
    app = an_app(clock)
    _send, calls = a_function(app)
    async with app:
        await (await app.schedule("send", "now", {"package": {"to": "bob"}})).wait()
        with pytest.raises(InvalidTask) as refusal:
            await app.schedule("sent", "now")
        assert refusal.value.code == "unknown_function"
    assert calls == [(Package("bob"), None)]


async def test_options_of_the_call_override_the_decorator(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app, retries=5, priority=7, lane="post", zone="Asia/Tokyo")
    async with app:
        plain = await app.schedule(send, "0 9 * * *", {"package": {"to": "ada"}})
        chosen = await app.schedule(
            send,
            "0 9 * * *",
            {"package": {"to": "ada"}},
            retries=1,
            lane="express",
            zone="Europe/Berlin",
            name="gift",
            labels={"for": "ada"},
            owner="bob",
        )
        usual = (await app.service.tasks.get(app.who, plain.id)).task
        task = (await app.service.tasks.get(app.who, chosen.id)).task
    assert (usual.policies.retry, usual.policies.priority) == (RetryPolicy(attempts=6), 7)
    assert (usual.lane, usual.schedule.zone, plain.name) == ("post", "Asia/Tokyo", "send")
    assert (task.policies.retry, task.policies.priority) == (RetryPolicy(attempts=2), 7)
    assert (task.lane, task.schedule.zone, task.name, task.owner) == ("express", "Europe/Berlin", "gift", "bob")
    assert task.labels == (("for", "ada"),)
    assert "gift" in repr(chosen)


@pytest.mark.parametrize(
    ("when", "error"),
    [
        ("whenever", InvalidSchedule),
        ("0 0 30 2 *", InvalidSchedule),
        (5, InvalidSchedule),
        ({"kind": "every"}, InvalidSchedule),
        ("every 1s until 2020-01-01", ValueError),
    ],
)
async def test_invalid_schedule_is_refused(clock: VirtualClock, when: Any, error: type[Exception]) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        with pytest.raises(error):
            await app.schedule(send, when, {"package": {"to": "ada"}})


async def test_unknown_zone_is_refused(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        for when in ("0 9 * * *", Once(at=datetime(2026, 4, 1, 9)), datetime(2026, 4, 1, 9)):
            with pytest.raises(InvalidSchedule):
                await app.schedule(send, when, {"package": {"to": "ada"}}, zone="Mars/Olympus")


async def test_key_creates_one_task_and_a_change_is_an_edit(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        first = await app.schedule(send, "every 1h", {"package": {"to": "ada"}}, key="daily")
        same = await app.schedule(send, "every 1h", {"package": {"to": "ada"}}, key="daily")
        other = await app.schedule(send, "every 1h", {"package": {"to": "bob"}}, key="daily")
        task = (await app.service.tasks.get(app.who, first.id)).task
    assert first.id == same.id == other.id
    assert (task.version, json.loads(task.payload)) == (2, {"package": {"to": "bob"}})


async def test_schedule_many_creates_all_or_none(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        items = [(send, NOON + n * SECOND, {"package": {"to": str(n)}}) for n in range(50)]
        handles = await app.schedule_many(items, owner="ada")
        assert {handle.owner for handle in handles} == {"ada"}
        with pytest.raises(InvalidTask):
            await app.schedule_many([*items, (send, "now", {"package": 5})])
        await clock.pause(120)
    assert [package.to for package, _ in calls] == [str(n) for n in range(50)]


async def test_closed_app_refuses_to_schedule(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, _calls = a_function(app)
    with pytest.raises(Conflict) as refusal:
        await app.schedule(send, "now", {"package": {"to": "ada"}})
    assert refusal.value.code == "not_open"


# --- operations -----------------------------------------------------------------------------------------------------------


async def test_paused_task_runs_nothing_until_it_is_resumed(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        await clock.pause(3_601)
        await handle.pause("holidays")
        assert (await handle.state(), await handle.next_due()) == (TaskState.PAUSED, None)
        await clock.pause(3 * 3_600)
        assert len(calls) == 1
        why = await handle.why(NOON + 2 * HOUR)
        assert (why.verdict, why.reason) == (Verdict.PAUSED, Reason.PAUSED)
        assert "holidays" in why.english
        await handle.resume()
        assert await handle.next_due() == NOON + 5 * HOUR
        await clock.pause(3_600)
        assert len(calls) == 2
        assert (await handle.why((NOON + 3 * HOUR).isoformat())).reason is Reason.PAUSED


async def test_pause_with_an_end_resumes_by_itself(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        await handle.pause(until=NOON + timedelta(hours=2, minutes=30))
        await clock.pause(3 * 3_600 + 1)
        assert await handle.state() is TaskState.ACTIVE
        assert len(calls) == 1


async def test_run_now_starts_at_once_and_does_not_move_the_schedule(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        await clock.pause(60)
        await handle.run_now()
        run = await handle.wait(timeout="1s")
        assert (run.origin, run.started) == (Origin.MANUAL, NOON + MINUTE)
        assert await handle.next_due() == NOON + HOUR
    assert len(calls) == 1


async def test_skip_records_a_skipped_run(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        await handle.skip()
        await clock.pause(2 * 3_600 + 1)
        newest, oldest = await handle.runs()
    assert (oldest.state, oldest.reason) == (RunState.SKIPPED, Reason.SKIP_REQUESTED)
    assert newest.state is RunState.SUCCEEDED
    assert len(calls) == 1


async def test_cancelled_task_runs_nothing_and_refuses_run_now(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        await handle.cancel()
        await handle.cancel()
        await clock.pause(2 * 3_600)
        assert await handle.state() is TaskState.CANCELLED
        with pytest.raises(Conflict):
            await handle.run_now()
    assert calls == []


async def test_raised_lane_limit_starts_waiting_runs_at_once(clock: VirtualClock) -> None:
    app = an_app(clock)
    going = 0

    @app.task(lane="press")
    async def press() -> None:
        nonlocal going
        going += 1
        await clock.pause(100)
        going -= 1

    async with app:
        await app.lane("press", 2)
        await app.schedule_many([(press, "now", None)] * 5)
        await clock.pause(50)
        assert going == 2
        await app.lane("press", 4)
        await clock.pause(0.5)
        assert going == 4
        for limit in (-1, 1.5, True, "3"):
            with pytest.raises(InvalidTask) as refusal:
                await app.lane("press", limit)  # type: ignore[arg-type]
            assert refusal.value.code == "bad_number"
        await clock.pause(300)
        assert going == 0


@pytest.mark.parametrize(
    ("at", "code"),
    [("", "unclear_moment"), ("some day", "unclear_moment"), (datetime(2026, 3, 1, 13), "naive_instant")],
)
async def test_why_refuses_an_unclear_moment(clock: VirtualClock, at: Any, code: str) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        handle = await app.schedule(send, "every 1h", {"package": {"to": "ada"}})
        with pytest.raises(InvalidTask) as refusal:
            await app.why(handle, at)
        assert refusal.value.code == code
        for moment in ("2026-03-01T13:00:00+00:00", "2026-03-01T13:00", "13:00", "today 13:00", "2026-03-01", None):
            assert (await app.why(handle.id, moment)).verdict is Verdict.PENDING, moment
        assert (await app.why(handle, datetime(2026, 3, 1, 13, tzinfo=UTC))).verdict is Verdict.PENDING
        assert (await app.why(handle, "yesterday")).verdict is Verdict.NOT_CREATED
        with pytest.raises(NotFound):
            await app.why("tsk_absent", NOON)


async def test_undecorated_function_is_refused(clock: VirtualClock) -> None:
    async def plain() -> None: ...

    app = an_app(clock, engine=False)
    async with app:
        with pytest.raises(InvalidTask, match="plain") as refusal:
            await app.schedule(plain, "now")  # type: ignore[arg-type]
        assert refusal.value.code == "unknown_function"


async def test_payload_that_is_no_dictionary_is_refused(clock: VirtualClock) -> None:
    app = an_app(clock, engine=False)
    send, _calls = a_function(app)
    async with app:
        with pytest.raises(InvalidTask) as refusal:
            await app.schedule(send, "now", 3)  # type: ignore[arg-type]
        assert refusal.value.code == "payload_not_named"


async def test_key_of_a_waiting_task_can_be_rescheduled_to_now(clock: VirtualClock) -> None:
    """Scheduling it for `now` twice changes nothing the second time."""

    app = an_app(clock)
    send, calls = a_function(app)
    async with app:
        payload = {"package": {"to": "ada"}}
        await app.schedule(send, "in 2h", payload, key="package")
        task = await app.schedule(send, "now", payload, key="package")
        await task.wait()
        assert len(calls) == 1
        first = await app.schedule(send, "now", payload, key="other")
        await first.wait()
        again = await app.schedule(send, "now", payload, key="other")
        assert again.id == first.id
        assert await again.next_due() is None


async def test_empty_task_name_is_refused(clock: VirtualClock) -> None:
    app = an_app(clock)
    send, _calls = a_function(app)
    async with app:
        with pytest.raises(InvalidTask, match="name cannot be ''"):
            await app.schedule(send, "in 20m", {"package": Package("ada")}, name="")


def test_empty_function_name_is_refused() -> None:
    app = Horae("memory://", engine=False)
    with pytest.raises(InvalidTask, match="name cannot be ''"):
        app.task("every 5m", name="")(print)
