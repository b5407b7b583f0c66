"""Option, method and attribute names of other schedulers are refused with the Horae name, in both languages."""

from __future__ import annotations

import inspect
import re
from datetime import datetime
from typing import Any

import pytest

from horae import Horae, InvalidTask, Refusal, RunHandle, TaskHandle
from horae.app import suggestions
from horae.app.declared_function import PolicyArguments, TaskFunction
from horae.app.lifespan import AppLifespan

KEYWORDS = {*PolicyArguments.__annotations__, *inspect.signature(Horae.schedule).parameters, "isolate"}
WAYS = {
    "option": suggestions.OPTIONS,
    "app option": suggestions.APP_OPTIONS,
    "function": suggestions.FUNCTION_NAMES,
    "app": suggestions.APP_NAMES,
    "handle": suggestions.HANDLE_NAMES,
    "run": suggestions.RUN_NAMES,
}


async def _work(user: int = 0) -> int:
    return user


def hint_of(refusal: pytest.ExceptionInfo[Refusal]) -> str:
    assert re.search("[\u4e00-\u9fff]", refusal.value.in_language("zh").hint)
    return refusal.value.hint


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"max_retries": 3}, "retries=3"),
        ({"max_retries": 5}, "retries=5"),
        ({"max_attempts": 5}, "retries=4"),
        ({"max_retries": None}, "retries=3"),
        ({"cron": "0 9 * * *"}, '@app.task("0 9 * * *")'),
        ({"cron": object()}, '@app.task("every 5m")'),
        ({"minutes": 15}, '@app.task("every 15m")'),
        ({"eta": datetime(2027, 1, 2, 9, 30)}, 'schedule(f, "2027-01-02 09:30", …)'),
        ({"countdown": 90}, 'schedule(f, "in 1m30s", …)'),
        ({"queue": 'a"b'}, 'lane="mail"'),
        ({"tz": "Asia/Tokyo"}, 'zone="Asia/Tokyo"'),
        ({"queue": "bulk"}, 'lane="bulk"'),
        ({"misfire_grace_time": 60}, 'missed="latest within 1m"'),
        ({"retry_delay_seconds": 3}, "RetryPolicy(backoff=timedelta(seconds=3))"),
        ({"soft_time_limit": 30}, 'timeout="30s"'),
        ({"job_id": "order-9"}, 'key="order-9"'),
        ({"acks_late": True}, 'guarantee="at_least_once"'),
        ({"acks_late": False}, 'guarantee="at_most_once"'),
        ({"acks_late": None}, 'guarantee="at_least_once"'),
        ({"guarantees": "at_most_once"}, "guarantee=…"),
        ({"Priorty": 3}, "priority=…"),
    ],
)
async def test_option_of_another_scheduler_is_answered_with_the_horae_name(options: dict[str, Any], hint: str) -> None:
    app = Horae("memory://", zone="UTC")
    with pytest.raises(InvalidTask) as declared:
        app.task("every 5m", name="work", **options)(_work)
    assert declared.value.code == "unknown_option"
    assert hint in hint_of(declared)
    with pytest.raises(InvalidTask) as scheduled:
        await _schedule(app, options)
    assert hint in hint_of(scheduled)
    with pytest.raises(InvalidTask) as edited:
        await _edit(app, options)
    assert hint in hint_of(edited)


async def _schedule(app: Horae, options: dict[str, Any]) -> None:
    app.task(name="work")(_work)
    async with app:
        call: Any = app.schedule
        await call("work", "in 1h", **options)


async def _edit(app: Horae, options: dict[str, Any]) -> None:
    async with app:
        call: Any = (await app.schedule("work", "in 1h")).edit
        await call(**options)


@pytest.mark.parametrize(
    ("arguments", "options", "hint"),
    [
        ((), {"eta": datetime(2027, 1, 2, 9, 30)}, '_work.later("2027-01-02 09:30", …)'),
        ((), {"countdown": 10}, '_work.later("in 10s", …)'),
        (("in 1h",), {"countdown": 10}, '_work.later("in 10s", …)'),
        (("in 1h",), {"max_retries": 7}, "retries=7"),
        (("in 1h",), {"user": 7, "retries": 2}, 'app.schedule(_work, "in 10s", {…}, retries=2)'),
        (("in 1h",), {"usr": 7}, "user"),
    ],
)
async def test_option_among_the_arguments_of_a_delayed_call_is_answered(
    arguments: tuple[Any, ...], options: dict[str, Any], hint: str
) -> None:
    with pytest.raises(InvalidTask) as refusal:
        await _later(arguments, options)
    assert hint in hint_of(refusal)


async def _later(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    app = Horae("memory://", zone="UTC")
    work: Any = app.task(name="work")(_work)
    async with app:
        await work.later(*arguments, **options)


async def _any(**given: Any) -> dict[str, Any]:
    return given


async def _later_with_any() -> Any:
    app = Horae("memory://", zone="UTC")
    work = app.task(name="any")(_any)
    async with app:
        return (await (await work.later("in 1ms", eta=5, retries=2)).wait("10s")).result


async def test_function_that_takes_any_argument_gets_those_names_too() -> None:
    assert (await _later_with_any()) == {"eta": 5, "retries": 2}


async def test_schedule_without_a_moment_but_with_a_cron_option_is_answered() -> None:
    app = Horae("memory://", zone="UTC")
    call: Any = app.schedule
    with pytest.raises(InvalidTask) as refusal:
        await call("work", cron="0 9 * * *")
    assert 'app.schedule(f, "0 9 * * *")' in hint_of(refusal)


def test_schedule_of_a_declaration_by_its_name_is_answered() -> None:
    with pytest.raises(InvalidTask) as refusal:
        Horae("memory://").task(when="every 5m")  # type: ignore[call-overload]
    assert '@app.task("every 5m")' in hint_of(refusal)


def test_unknown_name_without_a_near_one_lists_the_policies() -> None:
    with pytest.raises(InvalidTask) as refusal:
        Horae("memory://").task("every 5m", xyzzy=1)  # type: ignore[call-overload]
    assert refusal.value.code == "unknown_policy"


def test_argument_of_another_app_is_answered() -> None:
    kind: Any = Horae
    with pytest.raises(InvalidTask) as refusal:
        kind(timezone="Europe/Berlin")
    assert 'zone="Europe/Berlin"' in hint_of(refusal)
    with pytest.raises(TypeError, match="xyzzy"):
        kind(xyzzy=1)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("delay", "_work.now(…)"), ("apply_async", '_work.later("in 10s", …)'), ("send", "_work.now(…)")],
)
def test_method_of_another_task_function_is_answered(name: str, hint: str) -> None:
    work = Horae("memory://").task(_work)
    with pytest.raises(Refusal) as refusal:
        getattr(work, name)
    assert hint in hint_of(refusal)
    assert isinstance(refusal.value, AttributeError)
    assert not hasattr(work, name)
    with pytest.raises(AttributeError, match="xyzzy"):
        _ = getattr(work, "xyzzy")  # noqa: B009 - mypy knows that there is none


def test_methods_of_other_schedulers_are_answered() -> None:
    app: Any = Horae("memory://")
    with pytest.raises(AttributeError, match=r"app\.schedule"):
        app.add_job(_work, "interval", minutes=5)
    with pytest.raises(AttributeError, match=r"async with app"):
        app.start()


async def _handles() -> tuple[TaskHandle, RunHandle]:
    app = Horae("memory://", zone="UTC")
    app.task(name="work")(_work)
    async with app:
        task = await app.schedule("work", "in 1h")
        return task, await task.run_now()


async def test_attributes_of_other_handles_are_answered() -> None:
    task, run = await _handles()
    with pytest.raises(AttributeError, match=r"await task\.cancel\(\)"):
        _ = task.revoke  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"await run\.wait\(\)\)\.result"):
        _ = run.result  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", WAYS)
def test_each_suggestion_is_complete_and_exists(kind: str) -> None:
    """A suggested keyword is one that Horae takes, a suggested method one that it has; nothing is cut."""
    owners = {"now": TaskFunction, "later": TaskFunction}
    for name, way in WAYS[kind].items():
        assert len(way.en) <= 80, name
        assert len(way.zh) <= 80, name
        words = {*re.findall(r"(?<![\w.])(\w+)=(?!=)", way.en)} - {"attempts", "backoff", "after", "seconds"}
        known = {*inspect.signature(AppLifespan.__init__).parameters} if kind == "app option" else KEYWORDS | {"when"}
        assert words <= known, name
        for owner, method in re.findall(r"(\{name\}|app|await app\.get\(…\)\))\.(\w+)", way.en):
            owner_class = owners.get(method) or {"app": Horae, "handle": TaskHandle, "run": RunHandle}.get(kind, Horae)
            owner_class = TaskHandle if owner.startswith("await") else Horae if owner == "app" else owner_class
            assert hasattr(owner_class, method) or method in {"settings", "id"}, (name, method)


def test_no_suggestion_hides_a_name_that_exists() -> None:
    assert not KEYWORDS & suggestions.OPTIONS.keys() - {"when"}
    assert not {*inspect.signature(AppLifespan.__init__).parameters} & suggestions.APP_OPTIONS.keys()
    for kind, ways in (
        (TaskFunction, suggestions.FUNCTION_NAMES),
        (Horae, suggestions.APP_NAMES),
        (TaskHandle, suggestions.HANDLE_NAMES),
        (RunHandle, suggestions.RUN_NAMES),
    ):
        assert not {name for name in ways if hasattr(kind, name)}
