"""`--input` and `--merge` of `horae run`, `retry` and `backfill`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command_line import Cli


def add(cli: Cli, function: str, *options: str) -> None:
    assert cli("add", "every 1h", "--function", function, "--name", function, *options).code == 0


@pytest.mark.usefixtures("node")
def test_run_with_input_shows_it(cli: Cli, tmp_path: Path) -> None:
    assert cli("add", "every 1h", "--say", "hello", "--name", "greet", "--payload", '{"unit": "C"}').code == 0
    path = tmp_path / "input.json"
    path.write_text('{"city": "Oslo"}', encoding="utf-8")
    run = cli("run", "greet", "--merge", f"@{path}", "--wait", "--json").json
    assert run["input"] == {"merge": {"city": "Oslo"}}
    shown = cli("show", run["id"]).out
    assert "Merged input" in shown
    assert '"city": "Oslo"' in shown
    assert "Its input changes the task's payload." in cli("why", run["id"]).out
    assert cli("show", "greet", "--json").json["task"]["payload"] == {"unit": "C"}


@pytest.mark.usefixtures("node")
def test_retry_has_the_given_input_or_that_of_the_run(cli: Cli) -> None:
    add(cli, "broken", "--retries", "0")
    run = cli("run", "broken", "--input", "{}", "--wait", "--json").json
    assert (run["state"], run["input"]) == ("failed", {"replace": {}})
    assert cli("retry", run["id"], "--merge", "{}", "--json").json["run_id"] == run["id"]
    again = cli("run", "broken", "--wait", "--json").json
    assert again["input"] is None


def test_bad_inputs_are_refused(cli: Cli) -> None:
    add(cli, "embed")
    for options, code in (
        (("--input", "{}", "--merge", "{}"), "one_input"),
        (("--input", "{"), "bad_json_option"),
        (("--merge", '{"a": "{horae.day}"}'), "unknown_placeholder"),
        (("--merge", json.dumps({"a": "x" * 300_000})), "input_too_large"),
    ):
        assert cli("run", "embed", *options, "--json").problem["code"] == code
    assert cli("run", "--all", "--yes", "--input", "{}", "--json").problem["code"] == "input_for_many"
    day = ("--from", "yesterday 01:00", "--to", "yesterday 03:00")
    assert cli("backfill", "embed", *day, "--merge", "[", "--json").problem["code"] == "bad_json_option"
