"""`SocketNotifier`: notifications between processes on one SQLite file reach all others and leave no files behind."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from horae.stores.sqlite.wakeup import SUFFIX, SocketNotifier

TIMEOUT_SECONDS = 60


class Listener:
    def __init__(self, path: Path) -> None:
        self.notifier = SocketNotifier(str(path))
        self.notified = asyncio.Event()
        self.notifier.listen(self.notified.set)

    async def wait(self) -> None:
        await self.notified.wait()
        self.notified.clear()


def names(path: Path) -> list[str]:
    folder = Path(f"{path}{SUFFIX}")
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


async def test_notification_reaches_all_other_listeners(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / "horae.db"
        one, two = Listener(path), Listener(path)
        sender = SocketNotifier(str(path))
        sender.notify()
        await one.wait()
        await two.wait()
        one.notifier.notify()
        await two.wait()
        assert not one.notified.is_set(), "a notifier does not notify itself"
        for each in (one.notifier, two.notifier, sender):
            each.close()
    assert list(tmp_path.iterdir()) == []


async def test_path_too_long_for_a_socket_is_notified(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        deep = tmp_path / ("a" * 100) / ("b" * 100)
        deep.mkdir(parents=True)
        path = deep / "horae.db"
        one, two = Listener(path), Listener(path)
        assert len(names(path)) == 2
        one.notifier.notify()
        await two.wait()
        one.notifier.close()
        two.notifier.notify()
        two.notifier.close()
        assert list(deep.iterdir()) == []


async def test_sockets_of_dead_processes_are_removed(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / "horae.db"
        one = Listener(path)
        for name in ("0-dead", "zzz-dead"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
                dead.bind(f"{path}{SUFFIX}/{name}")
        assert len(names(path)) == 3
        other = SocketNotifier(str(path))
        other.notify()
        await one.wait()
        assert len(names(path)) == 1
        one.notifier.close()
        other.close()


async def test_broken_entries_do_not_block_other_listeners(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / "horae.db"
        one = Listener(path)
        # Neither a socket nor a file that can be removed.
        (Path(f"{path}{SUFFIX}") / "0-folder").mkdir()
        (Path(f"{path}{SUFFIX}") / "0-loop").symlink_to("0-loop")
        other = SocketNotifier(str(path))
        other.notify()
        await one.wait()
        one.notifier.close()
        other.close()


async def test_pending_notifications_are_coalesced(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / "horae.db"
        one = Listener(path)
        other = SocketNotifier(str(path))
        calls = 0

        def count() -> None:
            nonlocal calls
            calls += 1
            one.notified.set()

        one.notifier.listen(count)
        for _ in range(5_000):
            other.notify()
        await one.wait()
        await asyncio.sleep(0)  # noqa: TID251 - one loop iteration, in which no further call may come
        assert calls == 1, "all pending notifications make one call"
        other.notify()
        await one.wait()
        one.notifier.close()
        other.close()


def test_notify_without_listeners_does_nothing(tmp_path: Path) -> None:
    notifier = SocketNotifier(str(tmp_path / "horae.db"))
    notifier.notify()
    notifier.close()
    notifier.close()
    assert list(tmp_path.iterdir()) == []


async def test_listen_without_a_usable_folder_is_ignored(tmp_path: Path) -> None:
    notifier = SocketNotifier(str(tmp_path / "missing" / "horae.db"))
    notifier.listen(lambda: None)
    notifier.notify()
    notifier.close()


async def test_notifier_listens_again_after_close(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / "horae.db"
        one, other = Listener(path), SocketNotifier(str(path))
        one.notifier.close()
        one.notifier.close()
        one.notifier.listen(one.notified.set)
        one.notifier.listen(one.notified.set)
        assert len(names(path)) == 1
        other.notify()
        await one.wait()
        one.notifier.close()
        other.close()


async def test_notifier_finds_a_folder_that_was_recreated(tmp_path: Path) -> None:
    """A cached handle of the old folder would remove the sockets of live listeners."""

    async with asyncio.timeout(TIMEOUT_SECONDS):
        path = tmp_path / ("a" * 120) / "horae.db"
        path.parent.mkdir()
        first, sender = Listener(path), SocketNotifier(str(path))
        sender.notify()
        await first.wait()
        first.notifier.close()
        second = Listener(path)
        sender.notify()
        await second.wait()
        assert len(names(path)) == 1
        sender.close()
        second.notifier.close()
