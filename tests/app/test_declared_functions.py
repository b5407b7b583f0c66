"""Registered functions: the declaration of a decorator is stored, so that other processes schedule the function by name."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from horae import Horae
from horae.errors import InvalidTask
from horae.service.tasks.functions.functions import KnownFunction
from tests.app.declared_functions import declaring_app, register


def store_url(directory: Path) -> str:
    return f"sqlite:///{directory / 'h.db'}"


async def _find_function(app: Horae, name: str = "mail") -> KnownFunction | None:
    return (await app.service.functions.load(fresh=True)).functions.get(name)


async def test_function_of_another_process_is_scheduled_by_name(tmp_path: Path) -> None:
    await register(store_url(tmp_path))
    await _check_scheduling_by_name(store_url(tmp_path))


async def _check_scheduling_by_name(url: str) -> None:
    async with Horae(url, zone="UTC", engine=False) as app:
        task = (await (await app.schedule("mail", "every day at 09:00", {"user": 7})).facts()).task
        assert (task.lane, task.schedule.zone, dict(task.labels)) == ("mailer", "Asia/Tokyo", {"team": "ops"})
        assert (task.policies.retry.attempts, task.policies.guarantee) == (1, "at_most_once")
        (many,) = await app.schedule_many([("mail", "every day at 09:00", {"user": 7})])
        assert (await many.facts()).task.lane == "mailer"
        wire = await app.schedule({"kind": "function", "name": "mail"}, "every 1h", {"user": 7}, retries=4)
        policies = (await wire.facts()).task.policies
        assert (policies.retry.attempts, policies.priority) == (5, 7)
        with pytest.raises(InvalidTask) as wrong:
            await app.schedule("mail", "now", {"user": "x"})
        assert wrong.value.code == "bad_arguments"
        with pytest.raises(InvalidTask) as unknown:
            await app.schedule("mails", "now")
        assert (unknown.value.code, unknown.value.hint) == ("unknown_function", "Did you mean 'mail'?")


async def test_tasks_of_the_declaring_app_have_the_declared_labels(tmp_path: Path) -> None:
    await _check_own_labels(store_url(tmp_path))


async def _check_own_labels(url: str) -> None:
    async with declaring_app(url) as app:
        task = await app.schedule("mail", "every 1h", {"user": 7})
        assert dict((await task.facts()).task.labels) == {"team": "ops"}
        other = await app.schedule("mail", "every 1h", {"user": 7}, labels={"a": "b"})
        assert dict((await other.facts()).task.labels) == {"a": "b"}


async def test_node_is_counted_while_it_runs(tmp_path: Path) -> None:
    await _check_counted_node(store_url(tmp_path))


async def _check_counted_node(url: str) -> None:
    async with declaring_app(url, engine=True) as app:
        known = await _find_function(app)
        assert known is not None
        assert known.nodes == 1
        async with declaring_app(url, engine=True) as second:
            assert (await _find_function(second)) == known._replace(nodes=2)
    async with Horae(url, engine=False) as reader:
        known = await _find_function(reader)
        assert known is not None
        assert known.nodes == 0


async def test_newest_registration_counts_and_the_difference_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "horae"):
        await _check_redeclared_function(store_url(tmp_path))
    assert "running nodes declare the function mail differently" in caplog.text


async def _check_redeclared_function(url: str) -> None:
    async with declaring_app(url, engine=True):
        newer = Horae(url, zone="UTC", engine=False)

        @newer.task(name="mail", lane="second")
        async def mail(user: int, address: str) -> None: ...

        async with newer:
            known = await _find_function(newer)
            assert known is not None
            assert known.registration.defaults.lane == "second"
            assert (known.nodes, known.same_signature, known.same_defaults) == (1, False, False)
            # The running node still accepts these arguments, so they are not refused.
            target = {"kind": "function", "name": "mail"}
            task = await newer.schedule(target, "every 1h", {"user": 7})
            assert (await task.facts()).task.lane == "second"
    async with newer:
        with pytest.raises(InvalidTask) as refused:
            await newer.schedule(target, "every 1h", {"user": 7})
        assert refused.value.code == "missing_argument"


async def test_function_that_its_module_no_longer_declares_is_unregistered(tmp_path: Path) -> None:
    await _check_removed_function(store_url(tmp_path))


async def _check_removed_function(url: str) -> None:
    async with declaring_app(url):
        pass
    smaller = Horae(url, zone="UTC", engine=False)
    first = declaring_app(url)

    @smaller.task(name="report")
    async def report() -> None: ...

    # Both are declared by one module: the one that has only `report` is the later version of the code.
    report_module = smaller._registrations()[0].module
    renamed = [each._replace(module=report_module) for each in first._registrations()]
    async with Horae(url, engine=False) as app:
        await app.service.functions.register(app.who, renamed)
        assert await _find_function(app) is not None
    async with smaller:
        assert await _find_function(smaller) is None
        assert await _find_function(smaller, "report") is not None
