"""JSON output of task commands: each answer, empty list and refusal matches its schema, with no unknown field."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from jsonschema import Draft202012Validator

from horae.cli.command_table import COMMANDS
from tests.cli.command_line import Cli
from tests.cli.histories import record_outage, write_failure_history, write_missed_history
from tests.cli.json_schemas import SCHEMAS, check_schema

CHECKED_COMMANDS: list[tuple[str, list[str]]] = [
    ("receipt", ["add", "every 5m", "--say", "x", "--dry-run"]),
    ("receipt", ["add", "now", "--say", "x"]),
    ("receipt", ["add", "every 5m after end", "--http", "https://example.com", "--key", "k", "--pause"]),
    ("tasks", ["ls"]),
    ("tasks", ["ls", "--sort", "next"]),
    ("tasks", ["ls", "--text", "nothing like it"]),
    ("show", ["show", "nightly-backup"]),
    ("show", ["show", "weekly-digest"]),
    ("fires", ["next", "0 9 * * *"]),
    ("fires", ["next", "--task", "report"]),
    ("fires", ["next", "every day at 9:00 until 2020-01-01"]),
    ("fires", ["explain", "30 2 * * *", "--zone", "Europe/Berlin"]),
    ("queued", ["run", "report"]),
    ("bulk", ["run", "--all"]),
    ("task", ["pause", "report", "--reason", "x"]),
    ("bulk", ["pause", "--all"]),
    ("bulk", ["resume", "--state", "paused"]),
    ("task", ["resume", "weekly-digest"]),
    ("task", ["skip", "report"]),
    ("edited", ["edit", "report", "--when", "every 5m", "--priority", "5"]),
    ("edited", ["edit", "report", "--when", "every 5m", "--dry-run"]),
    ("task", ["cancel", "report"]),
    ("bulk", ["cancel", "--all"]),
    ("removed", ["rm", "report", "--yes"]),
    ("bulk", ["rm", "--all", "--yes"]),
    ("why", ["why", "nightly-backup"]),
    ("why", ["why", "weekly-digest"]),
    ("why", ["why", "report", "--at", "yesterday"]),
    ("runs", ["runs"]),
    ("runs", ["runs", "--state", "lost"]),
    ("lines", ["logs", "report"]),
    ("queued", ["retry", "nightly-backup"]),
    ("failures", ["failures"]),
    ("backfill", ["backfill", "report", "--from", "yesterday", "--to", "yesterday", "--dry-run"]),
    ("overview", ["overview"]),
    ("events", ["events"]),
    ("events", ["events", "--after", "100000"]),
    ("lanes", ["lanes"]),
    ("lane", ["lane", "gpu", "2"]),
    ("nodes", ["nodes"]),
    ("help", ["help", "zones"]),
    ("version", ["version"]),
]


PART_SCHEMAS = ("run", "line", "event", "node", "nodes-drain", "problem", "status")
"""Schemas of parts, or of lines of a stream."""


@pytest.mark.parametrize("name", sorted({*PART_SCHEMAS, *(schema for schema, _ in CHECKED_COMMANDS)}))
def test_every_schema_is_closed(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"urn:horae:schema:{name}"
    if SCHEMAS[name]["type"] == "object":
        assert SCHEMAS[name]["additionalProperties"] is False
        assert set(SCHEMAS[name]["required"]) == set(SCHEMAS[name]["properties"])


@pytest.mark.parametrize(
    ("schema", "arguments"), CHECKED_COMMANDS, ids=[" ".join(arguments) for _, arguments in CHECKED_COMMANDS]
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_answer_matches_its_schema(cli: Cli, schema: str, arguments: list[str], language: str) -> None:
    write_failure_history(cli.path)
    done = cli(*arguments, "--json", "--lang", language)
    assert done.code == 0, done.err
    check_schema(schema, done.json)


@pytest.mark.parametrize("command", ["ls", "runs", "events", "lanes", "nodes"])
def test_empty_list_matches_its_schema(cli: Cli, command: str) -> None:
    check_schema({"ls": "tasks"}.get(command, command), cli(command, "--json").json)


async def test_answers_about_missed_stretches_and_an_outage_match(cli: Cli) -> None:
    last = await asyncio.to_thread(write_missed_history, cli.path, "skip")
    await record_outage(cli.url, last - timedelta(minutes=29), last + timedelta(minutes=5))
    why = cli("why", "report", "--at", f"{last:%Y-%m-%dT%H:%M:%SZ}", "--json").json
    check_schema("why", why)
    assert why["outage"] is not None
    check_schema("runs", cli("runs", "--json").json)
    check_schema("tasks", cli("ls", "--json").json)
    check_schema("overview", cli("overview", "--json").json)


@pytest.mark.usefixtures("node")
def test_runs_lines_nodes_and_streams_of_an_engine_match(cli: Cli) -> None:
    cli("add", "every 1h", "--function", "embed", "--name", "embed")
    *lines, run = cli("run", "embed", "--follow", "--json").lines
    check_schema("lines", lines)
    check_schema("run", run)
    check_schema("run", cli("run", "embed", "--wait", "--json").json)
    check_schema("lines", cli("logs", "embed", "--json").json)
    check_schema("nodes", cli("nodes", "--json").json)
    check_schema("nodes", cli("nodes", "show", "nod_", "--json").json)
    check_schema("nodes-drain", cli("nodes", "drain", "nod_", "--json").json)
    check_schema("nodes-drain", cli("nodes", "drain", "nod_", "--undo", "--json").json)
    check_schema("overview", cli("overview", "--json").json)
    cli("add", "every 1h", "--function", "endless", "--name", "endless")
    queued = cli("run", "endless", "--json").json["run_id"]
    while (stopped := cli("stop", queued, "--json")).code != 0:
        check_schema("problem", stopped.problem)
    check_schema("run", stopped.json)
    for event in cli("events", "--json").json:
        check_schema("event", event)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ls", "--nonsense"],
        ["show", "nothing"],
        ["add", "every day at 9", "--say", "x"],
        ["add", "every 5m", "--say", "x", "--payload", "@nowhere.json"],
        ["rm", "report"],
        ["edit", "report", "--name", "x", "--if-version", "9"],
        ["run", "report", "--wait", "--timeout", "0.01s"],
        ["ls", "--store", "nonsense://x"],
        ["add", "every 5m", "--say", "x", "--store", "sqlite:////dev/null/x/y.db"],
    ],
    ids=" ".join,
)
def test_problem_matches_its_schema(cli: Cli, arguments: list[str]) -> None:
    write_failure_history(cli.path)
    done = cli(*arguments, "--json")
    assert done.code != 0
    check_schema("problem", done.problem)


def test_every_task_command_is_checked() -> None:
    other_commands = {
        "up",
        "status",
        "group",
        "demo",
        "doctor",
        "secret",
        "config",
        "db",
        "export",
        "import",
        "apply",
        "simulate",
        "completion",
        "worker",
        "route",
        "move",
        "mcp",
        "token",
        "owner",
        "station",
        "webhook",
        "notify",
        "messages",
        "deliveries",
        "plan",
        "audit",
        "login",
        "context",
        "service",
        "approve",
        "reject",
        "agent",
        "open",
        "session",
        "view",
        "undo",
    }
    streams = {"watch", "stop"}
    assert {arguments[0] for _, arguments in CHECKED_COMMANDS} == set(COMMANDS) - other_commands - streams


def test_undocumented_field_fails_the_check(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "x")
    task = cli("ls", "--json").json[0]
    with pytest.raises(AssertionError, match="surprise"):
        check_schema("task", task | {"surprise": 1})
    with pytest.raises(AssertionError, match="state"):
        check_schema("task", {name: value for name, value in task.items() if name != "state"})
