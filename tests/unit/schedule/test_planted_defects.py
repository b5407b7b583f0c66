"""Each planted defect is found by the comparison with the oracle, and the unmodified evaluator passes."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import horae
from tests.oracle.defect import ORDINARY, Defect
from tests.oracle.planted_defects import DEFECTS

REPOSITORY = Path(__file__).parents[3]
SOURCE = Path(horae.__file__).parent
ROOM = Path("horae") / "schedule"


@pytest.fixture(scope="module")
def copy_of_the_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy for all defects, compiled once."""
    copy = tmp_path_factory.mktemp("source")
    shutil.copytree(SOURCE, copy / "horae", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(copy / "horae" / "schedule", quiet=1)
    return copy


@contextmanager
def planted(defect: Defect, source: Path) -> Iterator[None]:
    """Write the defect into the copy, and put the file back afterwards with the time that its compiled module knows."""
    path = source / ROOM / defect.file
    text = path.read_text(encoding="utf-8")
    assert text.count(defect.old) == 1, f"{defect.file} no longer has this once: {defect.old}"
    path.write_text(text.replace(defect.old, defect.new), encoding="utf-8")
    try:
        yield
    finally:
        shutil.copy2(SOURCE / "schedule" / defect.file, path)


def run_comparison(source: Path, zones: tuple[str, ...], *, comparisons: int) -> subprocess.CompletedProcess[str]:
    command = ["-m", "tests.oracle.compare", "--edges", "--stop-after", "1", "--seed", "7"]
    return subprocess.run(
        [sys.executable, *command, "--count", str(comparisons), "--zones", ",".join(zones)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_caught(defect: Defect, copy_of_the_source: Path) -> None:
    with planted(defect, copy_of_the_source):
        finished = run_comparison(copy_of_the_source, defect.zones, comparisons=12_000)

    assert finished.returncode == 1, f"{defect.reason}: not noticed\n{finished.stdout}{finished.stderr}"
    assert "expected" in finished.stdout, finished.stderr


def test_unmodified_evaluator_passes(copy_of_the_source: Path) -> None:
    """A few comparisons, in a process like those of the defects; test_cron_oracle makes many."""
    finished = run_comparison(copy_of_the_source, ORDINARY[:1], comparisons=1_500)

    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_every_defect_is_a_different_one() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS)
    assert len({(defect.file, defect.old, defect.new) for defect in DEFECTS}) == len(DEFECTS)
    assert len(DEFECTS) >= 24
