"""Every Python block of these pages runs, in its own process, and prints what the page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Section, clean_environment, sections

RUN_BLOCKS = Path(__file__).parent / "run_blocks.py"
PAGES = (
    *("quickstart.md", "python.md", "coming-from.md", "simulate.md", "moving.md", "compatibility.md"),
    *("observability.md", "events.md", "targets/http.md"),
)
SECTIONS = [section for page in PAGES for section in sections(page)]


@pytest.mark.parametrize("section", SECTIONS, ids=[section.name for section in SECTIONS])
def test_section_runs_and_prints_the_documented_output(section: Section, tmp_path: Path) -> None:
    for name, text in section.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(RUN_BLOCKS)],
        input=json.dumps(section.blocks),
        cwd=tmp_path,
        env=clean_environment() | {"PYTHONPATH": str(tmp_path), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == section.printed


def test_sections_are_collected() -> None:
    assert len(SECTIONS) > 15
