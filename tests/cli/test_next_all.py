"""`horae next --all`: planned runs of all tasks within a period."""

from __future__ import annotations

from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema


def test_planned_runs_of_all_tasks_are_listed_by_due_instant(cli: Cli) -> None:
    assert cli("next", "--all", "--json").json == []
    cli("add", "every 6h", "--say", "x", "--name", "water")
    cli("add", "in 30m", "--say", "x", "--name", "tea")
    cli("add", "every 1h", "--say", "x", "--name", "asleep", "--pause")
    planned = cli("next", "--all", "--json").json
    check_schema("planned", planned)
    assert [each["task"] for each in planned] == ["tea", "water", "water", "water", "water"]
    assert planned == sorted(planned, key=lambda each: each["due"])
    assert len(cli("next", "--all", "--until", "in 3d", "--json").json) == 13
    shown = cli("next", "--all", "-n", "2")
    assert [line.split()[-1] for line in shown.out.splitlines()[1:]] == ["tea", "water"]
    assert "the first 2 runs" in shown.err
    assert [each["task"] for each in cli("next", "--all", "--after", "in 1h", "--json").json][:1] == ["water"]


def test_empty_period_and_mixed_arguments_are_explained(cli: Cli) -> None:
    cli("add", "every 6h", "--say", "x", "--name", "water")
    assert "nothing is planned" in cli("next", "--all", "--until", "in 1h").err
    for more in (["every 5m"], ["--task", "water"], ["--gap", "skip"]):
        assert cli("next", "--all", *more, "--json").problem["code"] == "all_or_one"
    assert cli("next", "--all", "--fields", "task,due", "--json").json[0].keys() == {"task", "due"}
