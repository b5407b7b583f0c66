"""`make up` runs until Ctrl-C wherever a terminal is attached, and ends by itself only where none is."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.docs.pages import ROOT, clean_environment

PATIENCE: Final = 60.0


@pytest.fixture
def fake_bin(tmp_path: Path) -> Path:
    """A folder whose `horae` prints its arguments: what `make up` starts, without a node that has to be waited for."""
    program = tmp_path / "horae"
    program.write_text('#!/bin/sh\necho "started: $@" >> "$(dirname "$0")/started"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def start_arguments(fake_bin: Path, *, terminal_on: tuple[int, ...]) -> str:
    """The arguments that `make up` hands to `horae`, with a pseudo terminal on these file descriptors."""
    ours, theirs = pty.openpty()
    streams = [theirs if number in terminal_on else subprocess.DEVNULL for number in range(3)]
    try:
        subprocess.run(
            ["make", "up", "-o", ".venv/.ready", f"BIN={fake_bin}"],
            cwd=ROOT,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            check=True,
            timeout=PATIENCE,
            start_new_session=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return (fake_bin / "started").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "terminal_on", [(0, 1, 2), (0,), (1,), (0, 2)], ids=["all", "stdin only", "stdout only", "stdout redirected"]
)
def test_make_up_has_no_time_limit_on_a_terminal(fake_bin: Path, terminal_on: tuple[int, ...]) -> None:
    assert "--seconds" not in start_arguments(fake_bin, terminal_on=terminal_on)


def test_make_up_ends_by_itself_without_a_terminal(fake_bin: Path) -> None:
    assert "--seconds 60" in start_arguments(fake_bin, terminal_on=())


def test_make_up_piped_to_another_program_has_no_time_limit(fake_bin: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run(  # noqa: S602 - a pipe as a person types it
            f"make up -o .venv/.ready BIN={fake_bin} | cat",
            shell=True,
            cwd=ROOT,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=PATIENCE,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "--seconds" not in (fake_bin / "started").read_text(encoding="utf-8")


def test_ctrl_c_ends_make_up_on_a_terminal() -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        binary = Path(sys.executable).parent
        command = ["make", "up", "-o", ".venv/.ready", f"BIN={binary}"]
        os.execvpe("make", command, clean_environment() | {"HORAE_API": "off"})  # noqa: S606
    try:
        shown = read_until(terminal, "demo-tick")
        os.write(terminal, b"\x03")
        shown += read_until(terminal, None)
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(terminal)
    assert "Traceback" not in shown
    assert os.waitstatus_to_exitcode(status) in (0, 2, -signal.SIGINT), (
        shown
    )  # 2 is make's answer to an interrupted recipe


def read_until(terminal: int, text: str | None) -> str:
    """What the terminal shows, up to this text, or to the end of the program."""
    clock = SystemClock()
    end = clock.steady() + PATIENCE
    shown = ""
    while text is None or text not in shown:
        assert clock.steady() < end, shown
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:  # the program closed its side
            chunk = b""
        if not chunk:
            assert text is None, shown
            break
        shown += chunk.decode(errors="replace")
    return shown
