"""The examples run, and print the output that their docstrings show."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, clean_environment

EXAMPLES = ROOT / "examples"
PATIENCE = 60


def documented_output(path: Path) -> str:
    """Return the output that the docstring of an example shows; empty without one."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, says, printed = docstring.partition("\nPrints:\n\n")
    return printed + "\n" if says else ""


PRINTING = [path for path in sorted(EXAMPLES.glob("*.py")) if documented_output(path)]


@pytest.mark.parametrize("path", PRINTING, ids=lambda path: path.name)
def test_example_prints_its_documented_output(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == documented_output(path)


def test_every_example_has_a_test() -> None:
    elsewhere = {"hello.py", "crash.py", "web.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == elsewhere | {path.name for path in PRINTING}


def test_web_example_deduplicates_by_key(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", "0", "web:web"]
    environment = clean_environment() | {"HORAE_STORE": f"sqlite:///{tmp_path}/web.db"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as server:
        assert server.stderr is not None
        try:
            address = next(found[1] for line in server.stderr if (found := re.search(r"running on (http://\S+)", line)))
            first, second = (send(address, "POST") for _ in range(2))
            assert first["task"] == second["task"]
            assert send(address, "GET") == {"state": "succeeded", "result": "reminded ada"}
            with pytest.raises(urllib.error.HTTPError) as unknown:
                urllib.request.urlopen(f"{address}/remind/nobody", timeout=PATIENCE)  # noqa: S310 - our own server
            assert unknown.value.code == 404
            unknown.value.close()
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)


def send(address: str, method: str) -> dict[str, Any]:
    request = urllib.request.Request(f"{address}/remind/ada", method=method)  # noqa: S310 - our own server, on loopback
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - likewise
        found: dict[str, Any] = json.load(answer)
    return found
