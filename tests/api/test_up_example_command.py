"""What `horae up` prints to be tried works as it is printed, in whatever folder, and on a terminal: copied, it makes a task that runs."""

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

from tests.api.test_up_process import WITH_API

_ENOUGH: Final = 60
_ORDERS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def lines_of(folder: Path, language: str, *, terminal: bool) -> Iterator[Iterator[str]]:
    """What a running `horae up` prints, line by line, for people."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    store = f"sqlite:///{folder}/horae.db"
    home = {"XDG_DATA_HOME": str(folder), "HOME": str(folder), "TERM": "xterm", "COLUMNS": "80", "LANG": language}
    command = [sys.executable, "-m", "horae", "up", "--store", store, "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, env={**WITH_API, **home}, stdout=theirs, start_new_session=True)
    os.close(theirs)
    patience = threading.Timer(_ENOUGH, process.kill)
    patience.start()
    try:
        with os.fdopen(ours, encoding="utf-8") as read:
            yield (_ORDERS.sub("", line).rstrip("\r\n") for line in read)
            process.terminate()
            # Until it has nothing more to say: a terminal whose reader is gone fails who writes there, at its very end too.
            with suppress(OSError):
                read.read()
            assert process.wait(_ENOUGH) == 0
    finally:
        patience.cancel()
        process.kill()
        process.wait(_ENOUGH)


def labelled(lines: Iterator[str], label: str, word: str) -> str:
    """What stands behind this label; a terminal shows it in lines that end with a backslash. Of several, the one that has
    the word."""
    for line in lines:
        if line.startswith(f"  {label} "):
            found = line.removeprefix(f"  {label} ").strip()
            while found.endswith("\\"):
                found = f"{found}\n{next(lines)}"
            if word in found:
                return found
    raise AssertionError(f"nothing with {word!r} is called {label!r}")


def asked(made: dict[str, Any], url: str, path: str, token: str) -> dict[str, Any]:
    place, head = urlsplit(url).netloc, {"Authorization": f"Bearer {token}"}
    line = HTTPConnection(place, timeout=_ENOUGH)
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
def test_the_line_to_try_works_as_it_is_printed(tmp_path: Path, language: str, label: str, *, terminal: bool) -> None:
    folder = tmp_path / 'Ada\'s "data" & $HOME; more'
    folder.mkdir()
    assert shutil.which("curl"), "what is printed asks with it"
    with lines_of(folder, language, terminal=terminal) as lines:
        command = labelled(lines, label, "curl")
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=_ENOUGH, check=True)
        made = json.loads(done.stdout)
        assert (made["name"], made["state"]) == ("hello", "active"), done.stdout
        assert len(made["next_runs"]) > 0
        # It says hello here, within ten seconds.
        said = next(line for line in lines if "hello" in line)
        url = command.split()[-1].removesuffix("/v1/tasks")
        (kept,) = folder.rglob("*.token")
        token = kept.read_text(encoding="ascii").strip()
        runs = asked(made, url, "runs", token)["items"]
        assert runs[0]["task_id"] == made["id"], said
        assert asked(made, url, "why", token)["verdict"] in ("ran", "running"), said
