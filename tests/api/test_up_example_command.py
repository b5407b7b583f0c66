"""The example command that `horae up` prints creates a task that runs when it is copied into a shell, from any folder and terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.api.up_process import WITH_API

_TIMEOUT_SECONDS: Final = 60
_ESCAPE_SEQUENCES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def run_up(folder: Path, language: str, *, terminal: bool) -> Iterator[Iterator[str]]:
    """Run `horae up` and yield the lines of its standard output without escape sequences."""
    output, process_output = pty.openpty() if terminal else os.pipe()
    store = f"sqlite:///{folder}/horae.db"
    home = {"XDG_DATA_HOME": str(folder), "HOME": str(folder), "TERM": "xterm", "COLUMNS": "80", "LANG": language}
    command = [sys.executable, "-m", "horae", "up", "--store", store, "--port", "0"]
    process = subprocess.Popen(
        command, cwd=folder, env={**WITH_API, **home}, stdout=process_output, start_new_session=True
    )
    os.close(process_output)
    timeout = threading.Timer(_TIMEOUT_SECONDS, process.kill)
    timeout.start()
    try:
        with os.fdopen(output, encoding="utf-8") as read:
            yield (_ESCAPE_SEQUENCES.sub("", line).rstrip("\r\n") for line in read)
            process.terminate()
            # Read to the end: writing to a terminal without a reader fails, also while the process stops.
            with suppress(OSError):
                read.read()
            assert process.wait(_TIMEOUT_SECONDS) == 0
    finally:
        timeout.cancel()
        process.kill()
        process.wait(_TIMEOUT_SECONDS)


def find_labelled(lines: Iterator[str], label: str, word: str) -> str:
    """Return the text after this label that contains the word; a terminal wraps it in lines that end with a backslash."""
    for line in lines:
        if line.startswith(f"  {label} "):
            found = line.removeprefix(f"  {label} ").strip()
            while found.endswith("\\"):
                found = f"{found}\n{next(lines)}"
            if word in found:
                return found
    raise AssertionError(f"nothing with {word!r} is called {label!r}")


def get_json(made: dict[str, Any], url: str, path: str, token: str) -> dict[str, Any]:
    place, head = urlsplit(url).netloc, {"Authorization": f"Bearer {token}"}
    line = HTTPConnection(place, timeout=_TIMEOUT_SECONDS)
    try:
        line.request("GET", f"/v1/tasks/{made['id']}/{path}", headers=head)
        found: dict[str, Any] = json.load(line.getresponse())
    finally:
        line.close()
    return found


@pytest.mark.parametrize(
    ("language", "label", "terminal"),
    [("C.UTF-8", "Try", False), ("zh_CN.UTF-8", "试试", True)],
    ids=["a file", "a terminal"],
)
def test_printed_example_command_creates_a_task_that_runs(
    tmp_path: Path, language: str, label: str, *, terminal: bool
) -> None:
    folder = tmp_path / 'Ada\'s "data" & $HOME; more'
    folder.mkdir()
    assert shutil.which("curl"), "the printed command uses it"
    with run_up(folder, language, terminal=terminal) as lines:
        command = find_labelled(lines, label, "curl")
        done = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True
        )
        made = json.loads(done.stdout)
        assert (made["name"], made["state"]) == ("hello", "active"), done.stdout
        assert len(made["next_runs"]) > 0
        # The node prints the event of the task within ten seconds.
        printed = next(line for line in lines if "hello" in line)
        url = command.split()[-1].removesuffix("/v1/tasks")
        (token_file,) = folder.rglob("*.token")
        token = token_file.read_text(encoding="ascii").strip()
        runs = get_json(made, url, "runs", token)["items"]
        assert runs[0]["task_id"] == made["id"], printed
        assert get_json(made, url, "why", token)["verdict"] in ("ran", "running"), printed
