"""A place and its workers for each test; what is measured is printed, and kept where the environment says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.functions import FOLDER
from tests.faults.place import Place
from tests.faults.processes import Workers


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return Place(tmp_path, tmp_path / "horae.db")


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
