"""The ring between processes: heard by all others, never in the way, and nothing left behind."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from horae.stores.sqlite.wakeup import SUFFIX, SocketNotifier

PATIENCE = 60


class Listener:
    def __init__(self, path: Path) -> None:
        self.ring = SocketNotifier(str(path))
        self.heard = asyncio.Event()
        self.ring.listen(self.heard.set)

    async def hears(self) -> None:
        await self.heard.wait()
        self.heard.clear()


def names(path: Path) -> list[str]:
    folder = Path(f"{path}{SUFFIX}")
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


async def test_everybody_else_hears_it(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        path = tmp_path / "horae.db"
        one, two = Listener(path), Listener(path)
        mute = SocketNotifier(str(path))
        mute.notify()
        await one.hears()
        await two.hears()
        one.ring.notify()
        await two.hears()
        assert not one.heard.is_set(), "who rings knows already"
        for each in (one.ring, two.ring, mute):
            each.close()
    assert list(tmp_path.iterdir()) == []


async def test_a_path_that_is_too_long_for_a_socket_still_rings(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        deep = tmp_path / ("a" * 100) / ("b" * 100)
        deep.mkdir(parents=True)
        path = deep / "horae.db"
        one, two = Listener(path), Listener(path)
        assert len(names(path)) == 2
        one.ring.notify()
        await two.hears()
        one.ring.close()
        two.ring.notify()
        two.ring.close()
        assert list(deep.iterdir()) == []


async def test_sockets_of_the_dead_are_swept_away_and_the_living_still_hear(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        path = tmp_path / "horae.db"
        one = Listener(path)
        for name in ("0-dead", "zzz-dead"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
                dead.bind(f"{path}{SUFFIX}/{name}")
        assert len(names(path)) == 3
        other = SocketNotifier(str(path))
        other.notify()
        await one.hears()
        assert len(names(path)) == 1
        one.ring.close()
        other.close()


async def test_somebody_who_cannot_be_called_does_not_keep_the_others_from_hearing(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        path = tmp_path / "horae.db"
        one = Listener(path)
        # Neither a socket nor something that could be swept away.
        (Path(f"{path}{SUFFIX}") / "0-folder").mkdir()
        (Path(f"{path}{SUFFIX}") / "0-loop").symlink_to("0-loop")
        other = SocketNotifier(str(path))
        other.notify()
        await one.hears()
        one.ring.close()
        other.close()


async def test_rings_that_nobody_has_heard_yet_cost_nothing(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        path = tmp_path / "horae.db"
        one = Listener(path)
        other = SocketNotifier(str(path))
        heard = 0

        def count() -> None:
            nonlocal heard
            heard += 1
            one.heard.set()

        one.ring.listen(count)
        for _ in range(5_000):
            other.notify()
        await one.hears()
        await asyncio.sleep(0)  # noqa: TID251 - one turn, in which nothing more may come
        assert heard == 1, "however many rings there were, one look answers them all"
        other.notify()
        await one.hears()
        one.ring.close()
        other.close()


def test_where_nobody_ever_listened_a_ring_goes_nowhere(tmp_path: Path) -> None:
    ring = SocketNotifier(str(tmp_path / "horae.db"))
    ring.notify()
    ring.close()
    ring.close()
    assert list(tmp_path.iterdir()) == []


async def test_where_no_socket_can_be_made_polling_carries_alone(tmp_path: Path) -> None:
    ring = SocketNotifier(str(tmp_path / "missing" / "horae.db"))
    ring.listen(lambda: None)
    ring.notify()
    ring.close()


async def test_the_same_ring_listens_again_after_its_close(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        path = tmp_path / "horae.db"
        one, other = Listener(path), SocketNotifier(str(path))
        one.ring.close()
        one.ring.close()
        one.ring.listen(one.heard.set)
        one.ring.listen(one.heard.set)
        assert len(names(path)) == 1
        other.notify()
        await one.hears()
        one.ring.close()
        other.close()


async def test_the_folder_may_come_and_go_between_two_rings(tmp_path: Path) -> None:
    """Somebody who keeps an old folder in hand would sweep away the sockets of the living."""

    async with asyncio.timeout(PATIENCE):
        path = tmp_path / ("a" * 120) / "horae.db"
        path.parent.mkdir()
        first, speaker = Listener(path), SocketNotifier(str(path))
        speaker.notify()
        await first.hears()
        first.ring.close()
        second = Listener(path)
        speaker.notify()
        await second.hears()
        assert len(names(path)) == 1
        speaker.close()
        second.ring.close()
