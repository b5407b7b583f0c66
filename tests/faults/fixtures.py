"""Fixtures that the conftest.py of several folders import: the workers of a test, and what it measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.place import Place
from tests.faults.processes import Workers


@pytest.fixture
def workers(place: Place) -> Iterator[Workers]:
    made = Workers(place)
    try:
        yield made
    finally:
        made.bury()


@pytest.fixture
def measured() -> Callable[[str, float], None]:
    """`HORAE_FAULTS_MEASURED` names a file to which each number is added."""

    def measure(what: str, seconds: float) -> None:
        line = f"{what}: {seconds:.2f}"
        print(line)  # noqa: T201 - shown by pytest where it is asked for
        if path := os.environ.get("HORAE_FAULTS_MEASURED"):
            with Path(path).open("a") as file:
                file.write(f"{line}\n")

    return measure
