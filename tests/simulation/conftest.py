"""Stores of the feature worlds; and the terminal summary of the seeds' coverage and the explorer's counts, collected from all test processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulation.coverage import Coverage
from tests.simulation.world_stores import WorldStore


@pytest.fixture
def world_store(request: pytest.FixtureRequest, tmp_path: Path) -> WorldStore:
    return WorldStore(tmp_path / "horae.db" if request.param == "sqlite" else None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = [each for each in terminalreporter.stats.get("passed", ()) if each.when == "call"]
    told = [(name, value) for report in passed for name, value in report.user_properties]
    for line in (*_covered(told), *(str(value) for name, value in told if name == "explored")):
        terminalreporter.write_line(line)


def _covered(told: list[tuple[str, object]]) -> Iterator[str]:
    everything = Coverage()
    parts = [value for name, value in told if name == "coverage"]
    for part in parts:
        everything.unpack(str(part))
    if parts:
        yield from everything.table()
