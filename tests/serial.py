"""Lock between the test processes of one run: a test marked `serial` runs while no other test does.

Such a test measures something that depends on the load of the machine, for example the memory of a server; the mark
names the reason: `@pytest.mark.serial("reason")`. All tests stay in one run with one summary.

Also the order of a run: serial tests, then those marked `long`, then the others.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Final

import pytest

_RUN: Final = os.environ.get("PYTEST_XDIST_TESTRUNUID")
"""Id shared by all test processes of a run; None with one process."""


class RunLock:
    """Shared by ordinary tests, exclusive for a serial one, which new tests do not overtake."""

    def __init__(self, run: str) -> None:
        self._entry = _opened(f"horae-tests-{run}.entry")
        self._running = _opened(f"horae-tests-{run}.running")

    @contextmanager
    def held(self, *, alone: bool) -> Iterator[None]:
        fcntl.flock(self._entry, fcntl.LOCK_EX)
        # While a serial test waits here for the others to end, no test starts.
        fcntl.flock(self._running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self._entry, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self._running, fcntl.LOCK_UN)

    def close(self) -> None:
        """Remove the files; processes that have them open still share them."""
        for file in (self._entry, self._running):
            Path(file.name).unlink(missing_ok=True)
            file.close()


def _opened(name: str) -> IO[str]:
    return (Path(tempfile.gettempdir()) / name).open("w")


_LOCK: Final = RunLock(_RUN) if _RUN else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the serial tests, since in the midst of a run the others would wait until the longest test has ended; then
    the long ones, since a run would end with one of them alone."""
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("serial", "long")])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hold the lock for one test, from its set-up to its end."""
    alone = item.get_closest_marker("serial") is not None
    with nullcontext() if _LOCK is None else _LOCK.held(alone=alone):
        return (yield)


def pytest_unconfigure() -> None:
    if _LOCK is not None:
        _LOCK.close()
