"""Process identity: a node on the same host is known to be dead, without false positives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from horae.engine import process_identity as home_module
from horae.engine.process_identity import is_gone, own_home

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems rely on the lease")

_SAYS_WHERE = "from horae.engine.process_identity import own_home; print(own_home(), flush=True); input()"


@contextmanager
def start_process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process that prints its home and ends at a line of input."""
    command = [sys.executable, "-c", _SAYS_WHERE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()


def end_process(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def parts(home: str) -> tuple[str, str, str, str]:
    machine, space, process, started = home.split("/")
    return machine, space, process, started


def test_a_process_that_runs_is_not_gone() -> None:
    assert not is_gone(own_home())
    with start_process() as (process, home):
        assert not is_gone(home)
        assert parts(home)[:2] == parts(own_home())[:2]
        assert parts(home)[2] == str(process.pid)
        end_process(process)


def test_a_process_that_ended_is_gone() -> None:
    with start_process() as (process, home):
        end_process(process)
        process.wait()
        assert is_gone(home)


def test_a_zombie_is_gone() -> None:
    with start_process() as (process, home):
        end_process(process)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.kill(process.pid, 0)  # its number is still taken
        assert is_gone(home)


def test_reused_pid_means_gone() -> None:
    machine, space, process, started = parts(own_home())
    assert is_gone(f"{machine}/{space}/{process}/{int(started) - 1}")


def test_process_of_another_user_is_not_taken_for_the_node() -> None:
    """Process 1 accepts no signal, but its start time is readable."""
    machine, space, _, _ = parts(own_home())
    assert is_gone(f"{machine}/{space}/1/18446744073709551615")


@pytest.mark.parametrize("number", ["99999999999999999999", "4194305"])
def test_impossible_pid_means_gone(number: str) -> None:
    machine, space, _, started = parts(own_home())
    assert is_gone(f"{machine}/{space}/{number}/{started}")


def test_other_host_or_namespace_is_not_gone() -> None:
    machine, space, process, _ = parts(own_home())
    assert not is_gone(f"another-boot/{space}/{process}/1")
    assert not is_gone(f"{machine}/1{space}/{process}/1")


@pytest.mark.parametrize("home", ["", "machine/1", "simulated/n1.1", "a/b/c/d", "?linux/1/2", "/", "//4194305/1"])
def test_invalid_home_is_never_gone(home: str) -> None:
    assert not is_gone(home)


def test_unknown_start_time_is_not_gone() -> None:
    machine, space, process, _ = parts(own_home())
    assert not is_gone(f"{machine}/{space}/{process}/?")


def test_unsupported_system_reports_no_process_as_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = own_home()
    monkeypatch.setattr(home_module, "_PROC", tmp_path)
    assert own_home().startswith("?")
    assert not is_gone(own_home())
    assert not is_gone(known)


def test_processes_of_another_pid_namespace_are_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a container that shows the processes of its host, a pid there is not a pid here."""
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot\n")
    (tmp_path / "1/ns").mkdir(parents=True)
    (tmp_path / "1/ns/pid").symlink_to("pid:[4026531836]")
    (tmp_path / "self").symlink_to("1")
    monkeypatch.setattr(home_module, "_PROC", tmp_path)
    assert own_home().startswith("?")
