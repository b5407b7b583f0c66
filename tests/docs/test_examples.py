"""The examples run; those that say in their first lines what they print, print it."""

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


def said_in(path: Path) -> str:
    """What the first lines of an example say that it prints."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, says, printed = docstring.partition("\nPrints:\n\n")
    return printed + "\n" if says else ""


PRINTING = [path for path in sorted(EXAMPLES.glob("*.py")) if said_in(path)]


@pytest.mark.parametrize("path", PRINTING, ids=lambda path: path.name)
def test_an_example_prints_what_it_says(path: Path, tmp_path: Path) -> None:
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
    assert done.stdout == said_in(path)


def test_every_example_is_tested_somewhere() -> None:
    elsewhere = {"hello.py", "crash.py", "web.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == elsewhere | {path.name for path in PRINTING}


def test_the_web_application_reminds_once_for_one_key(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", "0", "web:web"]
    environment = clean_environment() | {"HORAE_STORE": f"sqlite:///{tmp_path}/web.db"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as server:
        assert server.stderr is not None
        try:
            address = next(found[1] for line in server.stderr if (found := re.search(r"running on (http://\S+)", line)))
            first, second = (asked(address, "POST") for _ in range(2))
            assert first["task"] == second["task"]
            assert asked(address, "GET") == {"state": "succeeded", "result": "reminded ada"}
            with pytest.raises(urllib.error.HTTPError) as unknown:
                urllib.request.urlopen(f"{address}/remind/nobody", timeout=PATIENCE)  # noqa: S310 - our own server
            assert unknown.value.code == 404
            unknown.value.close()
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)


def asked(address: str, method: str) -> dict[str, Any]:
    request = urllib.request.Request(f"{address}/remind/ada", method=method)  # noqa: S310 - our own server, on loopback
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - likewise
        found: dict[str, Any] = json.load(answer)
    return found
