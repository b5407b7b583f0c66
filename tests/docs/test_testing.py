"""The tests in testing.md are complete files, and they pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.pages import clean_environment, sections


def test_documented_tests_pass(tmp_path: Path) -> None:
    shown = {name: text for section in sections("testing.md") for name, text in section.files.items()}
    assert not any(section.blocks for section in sections("testing.md")), "every block is a file of its own"
    for name, text in shown.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
            str(tmp_path),
        ],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    number = sum(text.count("\ndef test_") for text in shown.values())
    assert number >= 9
    assert f"{number} passed" in done.stdout, done.stdout
