"""`horae import` uses the given zone or the one that the data show, reports it, and never guesses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli, CommandResult
from tests.unit.interchange.nanoclaw_files import GROUP, TASK, made

MACHINE_ZONE_ONLY = {"HORAE_ZONE": ""}
"""No zone is configured: only the zone of the machine is left."""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def nanoclaw_file(cli: Cli, *tasks: dict[str, Any]) -> str:
    folder = cli.directory / "claw"
    folder.mkdir()
    return str(made(folder, *tasks, groups=(GROUP,)))


def openclaw_file(cli: Cli, **state: int) -> str:
    job = {
        "id": "job-1",
        "name": "weather",
        "schedule": {"kind": "cron", "expr": "0 9 * * *"},
        "sessionTarget": "isolated",
        "payload": {"kind": "agentTurn", "message": "weather"},
        "state": state,
    }
    path = cli.directory / "jobs.json"
    path.write_text(json.dumps({"jobs": [job]}), encoding="utf-8")
    return str(path)


def zones(cli: Cli) -> set[str]:
    return {line["task"]["zone"] for line in cli("export").lines if "task" in line}


def notes(done: CommandResult) -> list[str]:
    return [each["note"] for each in done.json["notes"] if each["source"] == "*"]


def test_zone_shown_by_next_runs_is_used_and_reported(cli: Cli) -> None:
    done = cli("import", nanoclaw_file(cli, TASK), "--json", **MACHINE_ZONE_ONLY)
    assert done.code == 0, done.err
    assert "show Asia/Shanghai" in notes(done)[0]
    assert zones(cli) == {"Asia/Shanghai"}


def test_zone_of_the_data_wins_over_the_variable(cli: Cli) -> None:
    done = cli("import", nanoclaw_file(cli, TASK), "--json", "--lang", "zh", HORAE_ZONE="Europe/Berlin")
    assert "表明是 Asia/Shanghai" in notes(done)[0]
    assert zones(cli) == {"Asia/Shanghai"}


def test_own_zone_is_used_if_next_runs_agree(cli: Cli) -> None:
    done = cli("import", nanoclaw_file(cli, TASK), "--json", HORAE_ZONE="Asia/Singapore")
    assert "agree" in notes(done)[0]
    assert zones(cli) == {"Asia/Singapore"}


def test_several_next_runs_narrow_the_zone_down(cli: Cli) -> None:
    """At +01:00 in winter and +02:00 in summer."""
    summer = {**TASK, "id": "task-2", "next_run": "2026-07-24T07:00:00.000Z", "schedule_value": "0 9 24 7 *"}
    winter = {**TASK, "next_run": "2026-02-24T08:00:00.000Z"}
    done = cli("import", nanoclaw_file(cli, winter, summer), "--json", **MACHINE_ZONE_ONLY)
    assert done.code == 0, done.err
    assert zones(cli) == {"Europe/Berlin"}


def test_ambiguous_zone_must_be_given(cli: Cli) -> None:
    winter = {**TASK, "next_run": "2026-02-24T08:00:00.000Z"}
    path = nanoclaw_file(cli, winter)
    refused = cli("import", path, "--json", **MACHINE_ZONE_ONLY)
    assert refused.code == ExitCode.INVALID
    assert refused.problem["code"] == "import_zone_unclear"
    assert "Europe/Berlin" in refused.problem["detail"]
    assert cli("import", path, "--zone", "Africa/Lagos", "--json", **MACHINE_ZONE_ONLY).code == 0
    assert zones(cli) == {"Africa/Lagos"}


@pytest.mark.parametrize("changes", [{"next_run": None}, {"schedule_value": "*/5 * * * *"}])
def test_file_without_a_zone_is_refused_until_one_is_given(cli: Cli, changes: dict[str, Any]) -> None:
    path = nanoclaw_file(cli, {**TASK, **changes})
    refused = cli("import", path, "--json", **MACHINE_ZONE_ONLY)
    assert refused.problem["code"] == "import_zone_unknown"
    assert "--zone" in refused.problem["hint"]
    chosen = cli("import", path, "--json", "--dry-run", HORAE_ZONE="Europe/Berlin")
    assert "HORAE_ZONE says so" in notes(chosen)[0]


def test_interval_needs_no_zone(cli: Cli) -> None:
    path = nanoclaw_file(cli, {**TASK, "schedule_type": "interval", "schedule_value": "3600000"})
    done = cli("import", path, "--json", **MACHINE_ZONE_ONLY)
    assert (done.code, notes(done)) == (0, [])


def test_given_zone_wins_and_a_contradiction_is_reported(cli: Cli) -> None:
    done = cli("import", nanoclaw_file(cli, TASK), "--zone", "Europe/Berlin", "--json")
    assert "do not fit Europe/Berlin; they fit Asia/Shanghai" in notes(done)[0]
    assert zones(cli) == {"Europe/Berlin"}


def test_zone_of_openclaw_jobs_is_detected(cli: Cli) -> None:
    done = cli("import", openclaw_file(cli, nextRunAtMs=1_771_894_800_000), "--json", **MACHINE_ZONE_ONLY)
    assert done.code == 0, done.err
    assert "show Asia/Shanghai" in notes(done)[0]
    assert zones(cli) == {"Asia/Shanghai"}


def test_openclaw_jobs_without_a_zone_are_refused(cli: Cli) -> None:
    refused = cli("import", openclaw_file(cli), "--json", **MACHINE_ZONE_ONLY)
    assert refused.problem["code"] == "import_zone_unknown"


def test_crontab_uses_the_zone_of_the_machine_and_reports_it(cli: Cli) -> None:
    (cli.directory / "table").write_text("0 9 * * * /bin/true\n", encoding="utf-8")
    done = cli("import", "table", "--dry-run", "--json", HORAE_ZONE="Asia/Tokyo", HORAE_ALLOW_COMMANDS="/bin/*")
    assert "Asia/Tokyo is used, because HORAE_ZONE says so" in (notes(done) or [done.out])[0]
