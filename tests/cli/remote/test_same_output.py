"""Output of commands on a file and through a server is identical."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.cli.histories import hour_before, write_failure_history, write_missed_history
from tests.cli.remote.server import RemoteCli

PASSING: Final = re.compile(
    r"(?<=\"at\": \")[^\"]+|(?<=\"after\": \")[^\"]+|(?<=\"in_seconds\": )[\d.]+"
    r"|\d+ (天|小时|分钟|秒)( \d+ (小时|分钟|秒))?[后前]\s*"
    r"|in \d+ \w+( \d+ \w+)?\s+|\d+ \w+( \d+ \w+)? ago\s*|\b\d+[smhd]\b|(?<=renewed_ago_ms\": )[\d.]+"
)
"""Relative times, which change between two commands."""


def without_times(text: str) -> str:
    """Remove relative times, and the store in printed commands."""
    return PASSING.sub("<while>", re.sub(r"horae --store \S+ ", "horae ", text))


LOOKED_AT: Final = [
    ["ls"],
    ["ls", "--sort", "next"],
    ["ls", "--plain"],
    ["ls", "--state", "paused", "--quiet"],
    ["ls", "--all", "--label", "none=such"],
    ["show", "nightly-backup"],
    ["show", "weekly-digest"],
    ["why", "nightly-backup"],
    ["why", "report", "--at", "yesterday"],
    ["runs"],
    ["runs", "nightly-backup", "--failed", "--limit", "1"],
    ["logs", "report"],
    ["overview"],
    ["events"],
    ["events", "--after", "3", "--limit", "2"],
    ["lanes"],
    ["nodes"],
    ["next", "--task", "report"],
    ["export", "--runs"],
    ["token", "ls"],
    ["owner", "ls"],
    ["owner", "show", "local"],
    ["webhook", "ls"],
    ["audit", "ls"],
    ["audit", "verify"],
    ["secret", "ls"],
]


@pytest.fixture
def history(cli: RemoteCli) -> RemoteCli:
    write_failure_history(cli.path)
    return cli


@pytest.mark.parametrize("language", ["en", "zh"])
def test_read_commands_print_the_same_on_file_and_server(history: RemoteCli, language: str) -> None:
    for arguments in LOOKED_AT:
        for manner in ([], ["--json"]):
            command = [*arguments, "--lang", language, *manner]
            here, there = history.on_store(*command), history(*command)
            assert (there.code, without_times(there.out)) == (here.code, without_times(here.out)), command


def test_missed_stretch_prints_the_same_on_file_and_server(cli: RemoteCli) -> None:
    last = write_missed_history(cli.path, "merge")
    for arguments in (["ls"], ["why", "report", "--at", f"{last:%Y-%m-%dT%H:%M:%SZ}"], ["runs"], ["overview"]):
        for manner in ([], ["--json"]):
            here, there = cli.on_store(*arguments, *manner), cli(*arguments, *manner)
            assert (there.code, without_times(there.out)) == (here.code, without_times(here.out)), arguments


REFUSED: Final = [
    ["show", "nothing"],
    ["show", "nightly-bakup"],
    ["show", "run_00"],
    ["why", "nightly-backup", "--at", "some day"],
    ["edit", "report", "--name", "x", "--if-version", "9"],
    ["edit", "report", "--priority", "1000"],
    ["skip", "report", "1000000001"],
    ["retry", "report"],
    ["stop", "report"],
    ["backfill", "report", "--from", "2020-01-02", "--to", "2020-01-01"],
    ["add", "every 1h", "--http", "http://10.0.0.1/x"],
    ["add", "every 1h", "--say", "x", "--lane", "function:x"],
    ["lane", "gpu", "-1"],
    ["nodes", "drain", "nod_x"],
    ["owner", "show", "nobody"],
    ["owner", "revoke", "local", "--yes"],
    ["token", "revoke", "tok_nothing", "--yes"],
    ["webhook", "add", "http://169.254.169.254/"],
    ["webhook", "show", "whk_nothing"],
    ["secret", "rm", "nothing", "--yes"],
]


def test_refusals_are_the_same_on_file_and_server(history: RemoteCli) -> None:
    """Same code, exit code, sentence and hint, in both languages."""
    for arguments in REFUSED:
        for language in ("en", "zh"):
            command = [*arguments, "--lang", language, "--json"]
            here, there = history.on_store(*command), history(*command)
            assert there.code == here.code != 0, (command, here, there)
            problems = [
                {name: value for name, value in done.problem.items() if name not in ("position", "hint")}
                | {"hint": without_times(done.problem["hint"])}
                for done in (here, there)
            ]
            assert problems[1] == problems[0], command


def changes() -> list[list[str]]:
    return [
        ["pause", "report", "--reason", "x"],
        ["resume", "report"],
        ["skip", "report", "2"],
        ["edit", "report", "--when", "every day at 6:00", "--label", "a=b"],
        ["edit", "report", "--when", "every day at 7:00", "--dry-run"],
        ["backfill", "report", "--from", f"{hour_before(30):%Y-%m-%dT%H:%MZ}", "--to", "now", "--yes"],
        ["cancel", "weekly-digest"],
        ["rm", "weekly-digest", "--yes"],
        ["pause", "--all"],
        ["lane", "gpu", "3"],
        ["owner", "set", "bob", "--role", "viewer", "--quota", "active_tasks=5", "--zone", "Asia/Tokyo"],
        ["owner", "revoke", "bob", "--yes"],
        ["owner", "restore", "bob"],
    ]


def test_write_commands_print_the_same_on_file_and_server(
    history: RemoteCli, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One store is changed through a server, its copy as a file."""
    copy = tmp_path_factory.mktemp("copy") / "horae.db"
    assert history.on_store("db", "backup", str(copy)).code == 0
    for arguments in changes():
        for manner in ([], ["--json"]):
            there = history(*arguments, *manner)
            here = history(*arguments, *manner, "--store", f"sqlite:///{copy}")
            assert (there.code, changed(there.out)) == (here.code, changed(here.out)), arguments


MOMENTS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+[+-]\d\d:\d\d")


def changed(text: str) -> str:
    """Replace the times of requests, which differ."""
    return MOMENTS.sub("<at>", without_times(text))


def test_receipt_is_the_same_on_file_and_server(history: RemoteCli) -> None:
    command = [
        "add",
        "every weekday at 9am",
        "--http",
        "https://example.com/x",
        "--key",
        "k",
        "--label",
        "a=b",
        "--dry-run",
    ]
    for manner in ([], ["--json"]):
        here, there = history.on_store(*command, *manner), history(*command, *manner)
        mask = re.compile(r"tsk_[0-9a-f]+")
        assert mask.sub("<id>", changed(there.out)) == mask.sub("<id>", changed(here.out))
