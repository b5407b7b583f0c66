"""Each planted defect is found by the comparison with the oracle, and the unmodified evaluator passes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import horae
from tests.oracle.defect import Defect
from tests.oracle.planted_defects import DEFECTS

REPOSITORY = Path(__file__).parents[3]
SOURCE = Path(horae.__file__).parent
ROOM = Path("horae") / "schedule"


@pytest.fixture
def copy_of_the_source(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "horae", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def plant(defect: Defect, source: Path) -> None:
    path = source / ROOM / defect.file
    text = path.read_text(encoding="utf-8")
    assert text.count(defect.old) == 1, f"{defect.file} no longer has this once: {defect.old}"
    path.write_text(text.replace(defect.old, defect.new), encoding="utf-8")


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
    plant(defect, copy_of_the_source)

    finished = run_comparison(copy_of_the_source, defect.zones, comparisons=12_000)

    assert finished.returncode == 1, f"{defect.reason}: not noticed\n{finished.stdout}{finished.stderr}"
    assert "expected" in finished.stdout, finished.stderr


def test_unmodified_evaluator_passes(copy_of_the_source: Path) -> None:
    everywhere = tuple(sorted({zone for defect in DEFECTS for zone in defect.zones}))

    finished = run_comparison(copy_of_the_source, everywhere, comparisons=12_000)

    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_every_defect_is_a_different_one() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS)
    assert len({(defect.file, defect.old, defect.new) for defect in DEFECTS}) == len(DEFECTS)
    assert len(DEFECTS) >= 24
