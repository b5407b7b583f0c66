"""The composition root and its settings: store, notifier, wake mode."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.app import Horae
from horae.cli.session.command_settings import CommandSettings
from horae.cli.session.local import LocalSession, run_locally
from horae.engine.settings import EngineSettings
from horae.errors import Refusal, UnknownStore
from horae.node.options import NodeOptions
from horae.node.worker import _engine_settings
from horae.ports.records import Record
from horae.runtime import NoNotifier, make_store, make_wakeup, process_settings, sqlite_path
from horae.runtime.service_factory import callback_key
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.wakeup import SocketNotifier


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///horae.db", "horae.db"),
        ("sqlite:////var/lib/horae.db", "/var/lib/horae.db"),
        ("sqlite:///with%20space.db", "with space.db"),
        ("sqlite:///", None),
        ("sqlite://horae.db", None),
        ("memory://", None),
        ("postgres:///horae", None),
        ("", None),
    ],
)
def test_the_path_in_an_address(url: str, path: str | None) -> None:
    assert sqlite_path(url) == path


def test_store_by_url(tmp_path: Path) -> None:
    assert isinstance(make_store("memory://"), MemoryStore)
    store = make_store(f"sqlite:///{tmp_path}/horae.db")
    assert isinstance(store, SQLiteStore)
    assert store.path == f"{tmp_path}/horae.db"
    assert not (tmp_path / "horae.db").exists(), "nothing is made before it is opened"


@pytest.mark.parametrize("url", ["", "horae.db", "mongodb://x", "sqlite://", "memory:///"])
def test_unknown_store_url_is_refused_with_a_hint(url: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        make_store(url)
    assert refusal.value.code == "unknown_store"
    assert "sqlite:///" in refusal.value.hint


@pytest.mark.skipif(os.name != "posix", reason="there is no ring there")
def test_shared_file_uses_notifications_unless_polling(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    assert isinstance(make_wakeup(url, precise=True), SocketNotifier)
    assert isinstance(make_wakeup(url, precise=False), NoNotifier)
    assert isinstance(make_wakeup("memory://", precise=True), NoNotifier)


@pytest.mark.skipif(os.name != "posix", reason="there is no ring there")
def test_two_paths_to_one_file_share_a_notifier(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path)
    one = make_wakeup(f"sqlite:///{tmp_path}/horae.db", precise=True)
    other = make_wakeup(f"sqlite:///{tmp_path}/alias/horae.db", precise=True)
    assert isinstance(one, SocketNotifier)
    assert isinstance(other, SocketNotifier)
    assert one._folder == other._folder


def test_null_notifier_does_nothing() -> None:
    ring = NoNotifier()
    ring.listen(lambda: None)
    ring.notify()
    ring.close()


# --- one deployment, one key -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_concurrent_nodes_create_one_callback_key(kind: str, tmp_path: Path) -> None:
    store = make_store("memory://" if kind == "memory" else f"sqlite:///{tmp_path}/horae.db")
    await store.open()
    elsewhere: list[str] = []

    class Slow:
        """Between our look and our write, another node has made a key."""

        async def get_record(self, *where: str) -> Record | None:
            found = await store.get_record(*where)
            if not elsewhere:
                elsewhere.append(await callback_key(store))
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    slow: Any = Slow()
    mine = await callback_key(slow)
    assert [mine, await callback_key(store)] == elsewhere * 2
    assert len(mine) == 64
    await store.close()


# --- what a file says of the whole house -----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings of its own, and nobody else's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process_settings, "user_file", lambda: tmp_path / "absent.toml")
    for name in ("HORAE_WAKE", "HORAE_KEY_FILE", "HORAE_CLOCK_TOLERANCE", "USE_PRIORITY_QUEUE_SCHEDULER"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def test_key_file_from_the_settings_file_encrypts_secrets(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "keys").mkdir()
    (project / "horae.toml").write_text('key_file = "keys/own.key"\n')

    async def scene(value: str) -> None:
        async with Horae("sqlite:///horae.db", engine=False) as app:
            await app.service.secrets.set(app.who, "token", value)

    await scene("one")
    assert (project / "keys" / "own.key").exists()
    assert not (project / "horae.key").exists()
    revealed = await asyncio.to_thread(
        run_locally,
        CommandSettings().with_store("sqlite:///horae.db"),
        lambda session: session.service.secrets.reveal(session.principal.owner, "token"),
    )
    assert revealed == "one", "commands find the same key"
    monkeypatch.setenv("HORAE_KEY_FILE", str(project / "keys" / "other.key"))
    await scene("two")
    assert (project / "keys" / "other.key").exists(), "the environment comes before the file"


async def test_app_reads_the_wake_mode_from_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def precise() -> bool:
        async with Horae("sqlite:///horae.db", engine=False) as app:
            assert isinstance(app._wakeup, NoNotifier) is not app.settings.precise
            return app.settings.precise

    assert await precise()
    (project / "horae.toml").write_text('wake = "poll"\n')
    assert not (await precise())
    monkeypatch.setenv("HORAE_WAKE", "precise")
    assert await precise(), "the environment comes before the file"


async def test_app_reads_the_clock_tolerance_from_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tolerance(settings: EngineSettings | None = None) -> float:
        async with Horae("memory://", engine=False, settings=settings) as app:
            return app.settings.clock_tolerance.total_seconds()

    assert (await tolerance()) == 60
    (project / "horae.toml").write_text('clock_tolerance = "5m"\n')
    assert (await tolerance()) == 300
    monkeypatch.setenv("HORAE_CLOCK_TOLERANCE", "2s")
    assert (await tolerance()) == 2, "the environment comes before the file"
    assert (await tolerance(EngineSettings(clock_tolerance=timedelta(0)))) == 0, "and the code before both"


async def test_app_reads_the_bound_of_run_logs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def bound(settings: EngineSettings | None = None) -> int:
        async with Horae("memory://", engine=False, settings=settings) as app:
            return app.settings.run_log_bytes

    assert await bound() == 16 * 1024 * 1024
    (project / "horae.toml").write_text("run_log_bytes = 65536\n")
    assert await bound() == 65_536
    monkeypatch.setenv("HORAE_RUN_LOG_BYTES", "8192")
    assert await bound() == 8_192, "the environment comes before the file"
    assert await bound(EngineSettings(run_log_bytes=5_000)) == 5_000, "and the code before both"
    for wrong in ("12", "a lot", "-5", "9" * 30):
        monkeypatch.setenv("HORAE_RUN_LOG_BYTES", wrong)
        with pytest.raises(Refusal) as refused:
            await bound()
        assert refused.value.code == "bad_number"
        assert "HORAE_RUN_LOG_BYTES" in str(refused.value)


async def open_and_close(url: str) -> None:
    async with Horae(url, engine=False):
        pass


async def last_event(desk: LocalSession) -> int:
    return await desk.service.events.last(desk.principal)


@pytest.mark.parametrize(("file", "variable"), [("sometimes", None), (None, "sometimes"), ("poll", "sometimes")])
async def test_invalid_wake_mode_is_refused_for_apps_and_commands(
    project: Path, monkeypatch: pytest.MonkeyPatch, file: str | None, variable: str | None
) -> None:
    if file is not None:
        (project / "horae.toml").write_text(f'wake = "{file}"\n')
    if variable is not None:
        monkeypatch.setenv("HORAE_WAKE", variable)
    code = "bad_settings" if variable is None else "bad_choice"
    with pytest.raises(Refusal) as caught:
        await open_and_close("sqlite:///horae.db")
    assert caught.value.code == code
    with pytest.raises(Refusal) as caught:
        await asyncio.to_thread(
            run_locally, CommandSettings().with_store("sqlite:///horae.db"), last_event, create=True
        )
    assert caught.value.code == code


def test_a_poll_of_a_minute_makes_no_occurrence_missed() -> None:
    """An occurrence that is later than the poll ceiling counts as missed, so that it is at least as long as the poll."""
    settings = _engine_settings(EngineSettings(), NodeOptions(began=0.0, poll=60.0))
    assert (settings.precise, settings.poll_interval) == (False, timedelta(seconds=60))
    assert settings.terms.poll_ceiling == timedelta(seconds=60)
    assert _engine_settings(EngineSettings(), NodeOptions(began=0.0, poll=2.0)).terms == EngineSettings().terms
