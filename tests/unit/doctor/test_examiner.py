"""Examination of a deployment by a running process: broken cases, bounds, and nothing changed."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from horae.clock import SystemClock
from horae.doctor import machine_checks
from horae.doctor.machine_checks import FULL_DISK_BYTES
from horae.errors import StoreUnavailable
from horae.model.accounts.principal import LOCAL
from horae.model.task import Target
from horae.observe.observer import Observer
from horae.ports.doctor import Check
from horae.runtime import deployment_examiner
from horae.runtime.deployment_examiner import (
    SERVER_LIMITS,
    Deployment,
    DeploymentExaminer,
    Limits,
    deployment_of,
    watch_writes,
)
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.service.tasks.task_request import TaskRequest
from horae.settings import read_settings

EVENT = Target("event", '{"say":"x","topic":"t"}')


class Opened(NamedTuple):
    service: Service
    path: Path
    deployment: Deployment

    def examiner(self, limits: Limits = SERVER_LIMITS) -> DeploymentExaminer:
        return DeploymentExaminer(self.deployment, SystemClock(), limits)

    async def examine(self, limits: Limits = SERVER_LIMITS) -> dict[str, Check]:
        return {each.code: each for each in await self.examiner(limits).examine(self.service)}


@asynccontextmanager
async def opened(path: Path, **environment: str) -> AsyncIterator[Opened]:
    url, settings, clock = f"sqlite:///{path}", read_settings(environment), SystemClock()
    store = make_store(url)
    await store.open()
    try:
        service = make_service(url, store, clock, "UTC", TargetKinds(settings))
        yield Opened(service, path, deployment_of(url, settings, "UTC")._replace(environment=environment))
    finally:
        await store.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Opened]:
    async with opened(tmp_path / "horae.db") as found:
        yield found


async def test_sound_store_has_no_error_and_is_not_changed(store: Opened) -> None:
    await store.service.tasks.create(LOCAL, TaskRequest("tea", "every 1h", EVENT, zone="UTC"))

    def fingerprint() -> list[str]:
        return [sha256(Path(f"{store.path}{end}").read_bytes()).hexdigest() for end in ("", "-wal")]

    before = fingerprint()
    found = await store.examine()
    assert [each for each in found.values() if each.grade in ("error", "skipped")] == []
    assert {"python", "settings", "store", "integrity", "clock", "zones", "disk", "libraries"} <= found.keys()
    assert fingerprint() == before
    assert found["integrity"].checked_at is not None


async def test_missing_file_of_an_open_store_is_an_error(store: Opened) -> None:
    store.path.unlink()
    errors = [each for each in await store.examiner().examine(store.service) if each.grade == "error"]
    assert [each.sentence("zh") for each in errors] == [f"存储文件已不存在：{store.path}"]
    assert not store.path.exists()


async def test_contradiction_in_the_store_is_an_error(store: Opened) -> None:
    await store.service.tasks.create(LOCAL, TaskRequest("tea", "every 1h", EVENT, zone="UTC"))
    with sqlite3.connect(store.path) as link:
        link.execute("DELETE FROM agenda")
    link.close()
    found = await store.examine()
    assert found["integrity"].grade == "error"
    assert found["integrity"].fix is not None
    assert found["integrity"].fix.command == "horae db check"


async def test_damaged_file_is_an_error_and_the_other_checks_are_made(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    async with opened(path) as sound:
        await sound.service.tasks.create(LOCAL, TaskRequest("tea", "every 1h", EVENT, zone="UTC"))
    with sqlite3.connect(path) as link:
        ((page_size,),) = link.execute("PRAGMA page_size")
        roots = [root for (root,) in link.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'lanes'")]
    link.close()
    with path.open("r+b") as file:
        for root in roots:
            file.seek((root - 1) * page_size)
            file.write(b"\xff" * page_size)
    async with opened(path) as damaged:
        checks = await damaged.examiner().examine(damaged.service)
    found = {each.code: each for each in checks}
    assert found["integrity"].grade == "error"
    # The lanes cannot be read: the reason is shown beside the state of the file.
    assert [each.grade for each in checks if each.code == "store"] == ["ok", "error"]
    assert {"python", "settings", "clock", "disk"} <= found.keys()


async def test_nearly_full_disk_is_an_error(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=FULL_DISK_BYTES - 1))
    assert (await store.examine())["disk"].grade == "error"


async def test_unused_variable_and_refused_setting_are_reported(tmp_path: Path) -> None:
    async with opened(tmp_path / "horae.db", HORAE_STROE="x", HORAE_CLOCK_TOLERANCE="much") as store:
        found = await store.examine()
    assert (found["unknown_setting"].grade, found["settings"].grade) == ("warning", "error")
    assert "HORAE_CLOCK_TOLERANCE" in found["settings"].sentence("en")


async def test_large_store_is_not_scanned(store: Opened) -> None:
    found = (await store.examine(SERVER_LIMITS._replace(integrity_bytes=1)))["integrity"]
    assert (found.grade, found.fix and found.fix.command) == ("skipped", "horae db check")
    assert "checks up to 1 B" in found.sentence("en")


async def test_slow_integrity_check_goes_on_in_the_background(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    release, calls = asyncio.Event(), []

    async def check() -> tuple[str, ...]:
        calls.append(1)
        await release.wait()
        return ()

    monkeypatch.setattr(store.service.store, "check", check)
    examiner = store.examiner(SERVER_LIMITS._replace(integrity_seconds=0.0))

    async def integrity() -> Check:
        return {each.code: each for each in await examiner.examine(store.service)}["integrity"]

    assert ((await integrity()).grade, (await integrity()).grade) == ("skipped", "skipped")
    release.set()
    while (found := await integrity()).grade == "skipped":
        pass
    # Its result is kept: the next report does not scan the store again.
    assert await integrity() == found
    assert (found.grade, calls) == ("ok", [1])


async def test_silent_file_system_skips_the_machine_and_holds_one_thread(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, calls = threading.Event(), []

    def check_zones(_zone: object) -> Check:
        calls.append(1)
        release.wait()
        return machine_checks.check_zones(store.deployment.zone)

    monkeypatch.setattr(deployment_examiner, "check_zones", check_zones)
    examiner = store.examiner(SERVER_LIMITS._replace(machine_seconds=0.05))
    try:
        for _ in range(2):
            found = {each.code: each for each in await examiner.examine(store.service)}
            assert (found["disk"].grade, "python" in found) == ("skipped", False)
    finally:
        release.set()
    assert calls == [1]


async def test_silent_store_skips_its_content(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check_content(*_parts: object) -> list[Check]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(deployment_examiner, "check_content", check_content)
    found = await store.examine(SERVER_LIMITS._replace(store_seconds=0.05))
    assert (found["tasks"].grade, found["store"].grade) == ("skipped", "ok")


async def test_store_that_fails_is_an_error_with_its_reason(store: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check_content(*_parts: object) -> list[Check]:
        raise StoreUnavailable("no route to host")

    monkeypatch.setattr(deployment_examiner, "check_content", check_content)
    checks = await store.examiner().examine(store.service)
    assert ["no route to host" in each.sentence("en") for each in checks if each.grade == "error"] == [True]


async def test_failed_write_probe_of_the_process_is_in_its_report(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = Observer("api", SystemClock())
    watch_writes(store.service, observer)
    assert (await store.service.doctor.report(LOCAL)).count("error") == 0

    async def write_records(_writes: object) -> bool:
        raise StoreUnavailable("disk {full}")

    monkeypatch.setattr(store.service.store, "write_records", write_records)
    assert await observer.write_probe.check(store.service.store, 1.0) is not None
    # The report before is still valid; what the process has seen since is added.
    (found,) = [each for each in (await store.service.doctor.report(LOCAL)).checks if each.grade == "error"]
    assert (found.code, found.sentence("zh")) == ("writes", "存储拒绝写入：存储目前无法完成此操作。")


async def test_clock_that_jumps_while_it_is_checked_is_reported(store: Opened) -> None:
    class JumpingClock(SystemClock):
        steps = 0

        def steady(self) -> float:
            self.steps += 1
            return super().steady() - self.steps

    examiner = DeploymentExaminer(store.deployment, JumpingClock())
    found = {each.code: each for each in await examiner.examine(store.service)}
    assert found["clock"].grade == "warning"


def test_zone_of_the_code_is_shown_as_an_option() -> None:
    settings = read_settings({"HORAE_ZONE": "Europe/Berlin"})
    chosen = deployment_of("memory://", settings, "Asia/Shanghai").zone
    assert (chosen.name, chosen.origin) == ("Asia/Shanghai", "flag")
    assert SERVER_LIMITS.integrity_age <= timedelta(minutes=10)
