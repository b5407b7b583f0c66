"""Terminal summary of the seeds' coverage and the explorer's counts, collected from all test processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulation.coverage import Coverage


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
