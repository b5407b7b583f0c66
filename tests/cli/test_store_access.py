"""Unusable stores: read-only, unreadable or missing ones are each reported as such."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.cli.session import open_store
from horae.runtime.stores import find_access_problem
from tests.cli.command_line import Cli

READ_ONLY = "Read-only file system"


@pytest.fixture
def read_only_store(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The store of `cli` on a read-only mount, or with the same system error where mounting is not allowed."""
    assert cli("add", "every 1h", "--say", "tick", "--zone", "UTC").code == 0
    folder = tmp_path / "frozen"
    folder.mkdir()
    bound = subprocess.run(["mount", "--bind", str(cli.directory), str(folder)], capture_output=True, check=False)
    if bound.returncode == 0:
        again = subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], capture_output=True, check=False)
        try:
            assert again.returncode == 0, again.stderr
            yield f"sqlite:///{folder}/horae.db"
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    else:
        monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
        monkeypatch.setattr(open_store, "_reason", lambda _place: READ_ONLY)
        yield cli.url


@pytest.mark.parametrize("command", [["ls"], ["why", "tick"], ["pause", "tick"], ["up"]])
def test_read_only_store_is_reported(cli: Cli, read_only_store: str, command: list[str]) -> None:
    done = cli(*command, "--json", "--store", read_only_store)
    assert (done.code, done.problem["code"]) == (7, "store_not_reached")
    assert done.problem["detail"].endswith(f"cannot be opened for writing: {READ_ONLY}.")


def test_doctor_does_not_recommend_restoring_a_read_only_store(cli: Cli, read_only_store: str) -> None:
    done = cli("doctor", "--store", read_only_store)
    assert done.code == 1
    assert f"cannot be opened for writing: {READ_ONLY}." in done.out
    assert "not a store" not in done.out
    assert "restore" not in done.out


def test_unreadable_store_file_is_reported(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test user may read everything, so the system error is simulated."""
    cli("add", "every 1h", "--say", "tick")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    found = find_access_problem(cli.path)
    assert found is not None
    assert (found.path, found.use, found.reason) == (cli.path, "reading", "Permission denied")
    done = cli("ls", "--lang", "zh")
    assert (done.code, "进行读取：Permission denied" in done.err) == (7, True)


def test_writable_store_is_used(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "tick")
    assert find_access_problem(cli.path) is None


@pytest.mark.parametrize("command", [["ls"], ["runs"], ["overview"], ["add", "every 1h", "--say", "x"], ["up"]])
def test_missing_store_folder_is_reported(cli: Cli, command: list[str]) -> None:
    done = cli(*command, "--json", "--store", "sqlite:///nowhere/horae.db")
    assert (done.code, done.problem["code"]) == (3, "no_such_folder")
    assert str(cli.directory / "nowhere") in done.problem["detail"]
    assert "no tasks yet" in cli("ls", "--store", "sqlite:///not-yet.db").err
