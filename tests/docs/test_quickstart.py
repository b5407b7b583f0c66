"""The commands of the quickstart run in order, and their output has the documented form."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT, clean_environment, text_of

PATIENCE: Final = 60
PAIRS: Final = re.findall(
    r"^```sh\n(.+?)\n```\n(?:\n```text\n(.*?)^```$)?", text_of("quickstart.md"), re.MULTILINE | re.DOTALL
)
COMMANDS: Final = [(command, shown) for command, shown in PAIRS if command.startswith("horae ")]


def environment(store: str) -> dict[str, str]:
    """Port 0: the default port may be in use on this machine."""
    ours = {"HORAE_STORE": store, "HORAE_PORT": "0", "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
    return clean_environment() | ours


def arguments(command: str) -> list[str]:
    return [sys.executable, "-m", "horae", *shlex.split(command)[1:]]


def horae(command: str, store: str) -> str:
    done = subprocess.run(
        arguments(command),
        env=environment(store),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def running(command: str, store: str, wanted: str) -> Iterator[str]:
    """Start the command, yield its output up to a matching line, and stop it gracefully afterwards."""
    printed = ""
    with subprocess.Popen(
        arguments(command), env=environment(store), stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed += line
            if re.match(wanted, line):
                break
        try:
            assert re.search(wanted, printed, re.MULTILINE), printed
            yield printed
        finally:
            process.terminate()
            process.stdout.read()


def shape(text: str) -> str:
    """Replace the parts that differ between runs: ids, numbers, days, column widths."""
    plain = re.sub(r"(tsk|run)_[0-9a-f]{32}", r"\1", text)
    plain = re.sub(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "day", plain)
    return re.sub(r"[ ]+", " ", re.sub(r"[\d.]+", "0", plain))


def test_commands_print_the_documented_output(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/horae.db"
    assert [command.split()[1] for command, _ in COMMANDS] == ["up", "add", "ls", "why", "runs"]
    (up, greeting), (add, made), (ls, listed), (why, explained), (runs, _) = COMMANDS
    with running(up, store, r"  Ends ") as printed:
        assert first_words(printed)[:6] == first_words(greeting)[:6]
    # The HTTP API is off in this test; with it, its address and its token are printed below.
    assert first_words(greeting)[6:] == ["API", "Token", "horae_…", "Console", "Try"]
    assert shape(horae(add, store)) == shape(made)
    horae("horae run tick", store)  # a run at once, so that the test does not wait for ten seconds
    with running(up, store, r"^\S+  ▸ tick  tick  \+\d+ ms$"):
        assert shape(horae(ls, store)).splitlines()[0] == shape(listed).splitlines()[0]
        # Here `horae up` prints to a pipe and not to a terminal: the missing listener is printed too.
        assert shape(horae(why, store)).splitlines()[1].startswith(shape(explained).splitlines()[1])
    assert "✓ succeeded" in horae(runs, store)


def first_words(text: str) -> list[str]:
    """The labels; lines that go on below one of them have none."""
    return [line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("   ")]


def test_crash_section_shows_the_example() -> None:
    commands = [command for command, _ in PAIRS if command.startswith("python ")]
    assert commands == ["python examples/crash.py"]
    assert (ROOT / "examples" / "crash.py").exists()
