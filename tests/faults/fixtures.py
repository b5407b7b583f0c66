"""Fixtures shared by several conftest.py files: the workers of a test, and its measurements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Workers
from tests.faults.testbed import Testbed


@pytest.fixture
def workers(testbed: Testbed) -> Iterator[Workers]:
    made = Workers(testbed)
    try:
        yield made
    finally:
        made.clean_up()


@pytest.fixture
def measured() -> Callable[[str, float], None]:
    """Print a measurement, and append it to the file in `HORAE_FAULTS_MEASURED`."""

    def measure(what: str, seconds: float) -> None:
        line = f"{what}: {seconds:.2f}"
        print(line)  # noqa: T201 - pytest shows it with -s
        if path := os.environ.get("HORAE_FAULTS_MEASURED"):
            with Path(path).open("a") as file:
                file.write(f"{line}\n")

    return measure
