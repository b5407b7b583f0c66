"""The lock between test processes: a serial test waits for the others, and new ones wait for it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from secrets import token_hex
from threading import Event, Thread
from typing import IO

import pytest

from tests.serial import RunLock, pytest_collection_modifyitems

PATIENCE = 30.0
LOOKS = 10_000


@pytest.fixture
def locks() -> Iterator[tuple[RunLock, RunLock]]:
    """The locks of two test processes of one run."""
    run = token_hex(8)
    made = RunLock(run), RunLock(run)
    yield made
    for each in made:
        each.close()


def is_free(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


def test_ordinary_tests_run_beside_each_other(locks: tuple[RunLock, RunLock]) -> None:
    one, other = locks
    with one.held(alone=False), other.held(alone=False):
        pass


def test_no_test_runs_beside_a_serial_one(locks: tuple[RunLock, RunLock]) -> None:
    one, other = locks
    with one.held(alone=True):
        assert not is_free(other._running, fcntl.LOCK_SH)
    assert is_free(other._running, fcntl.LOCK_SH)


def test_new_tests_do_not_overtake_a_serial_one_that_waits(locks: tuple[RunLock, RunLock]) -> None:
    one, other = locks
    begun = Event()

    def run_serial_test() -> None:
        with other.held(alone=True):
            begun.set()

    with one.held(alone=False):
        waiting = Thread(target=run_serial_test, daemon=True)
        waiting.start()
        # A third process, which begins a test now, waits at the entry.
        third = RunLock(one._entry.name.rpartition("horae-tests-")[2].removesuffix(".entry"))
        assert any(not is_free(third._entry, fcntl.LOCK_EX) for _ in range(LOOKS))
        assert not begun.is_set()
    waiting.join(PATIENCE)
    assert begun.is_set()
    third.close()


def test_a_run_begins_with_serial_and_then_long_tests(request: pytest.FixtureRequest) -> None:
    names = ("a", "b", "c", "d", "e")
    items = [pytest.Function.from_parent(request.node.parent, name=name, callobj=is_free) for name in names]
    items[1].add_marker(pytest.mark.long)
    items[3].add_marker(pytest.mark.serial("a reason"))
    items[4].add_marker(pytest.mark.long)
    listed: list[pytest.Item] = list(items)
    pytest_collection_modifyitems(listed)
    assert [item.name for item in listed] == ["d", "b", "e", "a", "c"]
