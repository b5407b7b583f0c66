"""Default zone of `horae add`: that of the task's owner before that of the process; the receipt names it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from horae.clock import SystemClock
from tests.cli.command_line import Cli
from tests.cli.remote.server import RemoteCli


def no_zone(receipt: Any) -> list[str]:
    return [each["message"] for each in receipt["warnings"] if each["code"] == "no_zone"]


def test_zone_of_the_owner_counts_before_that_of_the_process(cli: Cli) -> None:
    cli("owner", "set", "local", "--zone", "Asia/Shanghai")
    made = cli("add", "every day at 9am", "--say", "x", "--name", "daily", "--json").json
    assert (made["task"]["zone"], made["fires"][0]["at_local"][11:16]) == ("Asia/Shanghai", "09:00")
    (warning,) = no_zone(made)
    assert "Asia/Shanghai" in warning
    assert "it is yours" in warning
    chinese = cli("add", "每天早上9点", "--say", "x", "--name", "zh", "--lang", "zh", "--json").json
    assert "这是您的默认时区" in no_zone(chinese)[0]


def test_zone_of_another_owner_counts_for_their_tasks(cli: Cli) -> None:
    cli("owner", "set", "local", "--zone", "Asia/Shanghai")
    cli("owner", "set", "bob", "--zone", "America/New_York")
    made = cli("add", "every day at 9am", "--say", "x", "--owner", "bob", "--dry-run", "--json").json
    assert made["task"]["zone"] == "America/New_York"
    (warning,) = no_zone(made)
    assert "it is the default zone of bob" in warning


@pytest.mark.parametrize(
    ("schedule", "zone"),
    [(["every day at 9am", "--zone", "Europe/Berlin"], "Europe/Berlin"), (["every day at 9am Tokyo"], "Asia/Tokyo")],
)
def test_zone_that_is_named_counts_before_that_of_the_owner(cli: Cli, schedule: list[str], zone: str) -> None:
    cli("owner", "set", "local", "--zone", "Asia/Shanghai")
    made = cli("add", *schedule, "--say", "x", "--json").json
    assert (made["task"]["zone"], no_zone(made)) == (zone, [])


def test_owner_without_a_zone_gets_that_of_the_process(cli: Cli) -> None:
    cli("owner", "set", "local", "--note", "no zone")
    made = cli("add", "every day at 9am", "--say", "x", "--json").json
    assert made["task"]["zone"] == "UTC"
    (warning,) = no_zone(made)
    assert "yours" not in warning


def test_time_of_today_is_read_in_the_zone_of_the_owner(cli: Cli) -> None:
    """A time that has passed in one zone may be in the future in another."""
    cli("owner", "set", "local", "--zone", "Pacific/Kiritimati")
    east = cli("add", "every day at 23:59", "--say", "x", "--json").json
    assert east["fires"][0]["at"][11:16] == "09:59"


def test_at_a_server_it_is_the_zone_of_the_token_owner(cli: Cli) -> None:
    served = RemoteCli(cli.directory)
    try:
        served("owner", "set", "local", "--zone", "Asia/Shanghai")
        made = served("add", "every day at 9am", "--say", "x", "--json").json
    finally:
        served.stop()
    assert made["task"]["zone"] == "Asia/Shanghai"
    assert any("it is yours" in each for each in no_zone(made))


def test_tables_at_a_server_show_times_in_the_zone_of_the_owner(cli: Cli) -> None:
    served = RemoteCli(cli.directory)
    try:
        served("owner", "set", "local", "--zone", "Asia/Shanghai")
        served("add", "every day at 9am Asia/Shanghai", "--say", "x", "--name", "daily")
        listed = served("ls")
        events = served("events")
        served("owner", "set", "local", "--zone", "America/New_York")
        moved = served("ls")
    finally:
        served.stop()
    assert "times in Asia/Shanghai" in listed.out + listed.err
    assert "09:00" in listed.out
    assert "+08:00" in events.out or "Asia/Shanghai" in events.out + events.err
    assert "times in America/New_York" in moved.out + moved.err


def test_owner_without_a_zone_at_a_server_sees_the_zone_of_the_client(cli: Cli) -> None:
    served = RemoteCli(cli.directory)
    try:
        served("add", "every day at 9am UTC", "--say", "x", "--name", "daily")
        listed = served("ls", HORAE_ZONE="Europe/Berlin")
    finally:
        served.stop()
    assert "times in Europe/Berlin" in listed.out + listed.err


JOBS = """
from horae import Horae

app = Horae(zone="Asia/Tokyo")

@app.task("every 1s")
def tick() -> None: ...
"""


def shown_offset(line: str) -> int:
    """Return the minutes between a time in a log line and UTC now, rounded to a quarter of an hour."""
    hour, minute = int(line[:2]), int(line[3:5])
    now = SystemClock().now()
    return round(((hour - now.hour) * 60 + minute - now.minute) / 15) * 15 % (24 * 60)


@pytest.mark.parametrize(("owned", "offset"), [(None, "-03:00"), ("Asia/Kathmandu", "+05:45")])
def test_node_log_and_lists_use_the_user_zone(cli: Cli, owned: str | None, offset: str) -> None:
    """The app's zone applies only to its schedules."""
    (cli.directory / "jobs.py").write_text(JOBS)
    if owned is not None:
        cli("owner", "set", "local", "--zone", owned)
    here = {"HORAE_ZONE": "America/Sao_Paulo"}
    up = cli.process("up", "jobs.py", "--seconds", "1.5", "-v", **here)
    (first, *_) = [line for line in up.out.splitlines() if "✓ jobs.tick" in line]
    minutes = (int(offset[1:3]) * 60 + int(offset[4:])) * (-1 if offset[0] == "-" else 1)
    assert shown_offset(first) == minutes % (24 * 60)
    (scheduler,) = [line for line in up.out.splitlines() if "jobs.tick" in line and "next" in line]
    assert offset in scheduler
    assert f"times in {owned or here['HORAE_ZONE']}" in cli("ls", **here).err
    assert offset in cli("runs", **here).out


def test_apply_takes_the_zone_of_the_owner_and_says_so(cli: Cli) -> None:
    cli("owner", "set", "local", "--zone", "Asia/Shanghai")
    cli("owner", "set", "bob", "--zone", "America/New_York")
    file = cli.directory / "tasks.json"
    tasks = [
        {"name": "mine", "when": "every day at 9am", "say": "x"},
        {"name": "second", "when": "every day at 10am", "say": "x"},
        {"name": "theirs", "when": "every day at 9am", "say": "x", "owner": "bob"},
        {"name": "named", "when": "every day at 9am Europe/Berlin", "say": "x"},
        {"name": "interval", "when": "every 10s", "say": "x"},
    ]
    file.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    done = cli("apply", "-f", str(file), "--yes", "--json")
    zones = {each["name"]: each["zone"] for each in cli("ls", "--json").json}
    assert {name: zones[name] for name in ("mine", "second", "theirs", "named")} == {
        "mine": "Asia/Shanghai",
        "second": "Asia/Shanghai",
        "theirs": "America/New_York",
        "named": "Europe/Berlin",
    }
    mine, theirs = no_zone(done.json)
    assert "Asia/Shanghai is used, because it is yours" in mine
    assert "America/New_York is used, because it is the default zone of bob" in theirs
    again = cli("apply", "-f", str(file), "--dry-run")
    assert again.err.count("Asia/Shanghai is used") == 1
    assert "5 the same" in again.out


def test_apply_takes_the_zone_of_the_file_before_that_of_the_owner(cli: Cli) -> None:
    cli("owner", "set", "local", "--zone", "Asia/Shanghai")
    file = cli.directory / "tasks.json"
    tasks = [{"name": "daily", "when": "every day at 9am", "say": "x"}]
    file.write_text(json.dumps({"zone": "Europe/Berlin", "tasks": tasks}), encoding="utf-8")
    done = cli("apply", "-f", str(file), "--yes", "--json")
    assert no_zone(done.json) == []
    assert cli("ls", "--json").json[0]["zone"] == "Europe/Berlin"


def test_apply_for_an_owner_without_a_zone_takes_that_of_the_process(cli: Cli) -> None:
    file = cli.directory / "tasks.json"
    tasks = [{"name": "daily", "when": "every day at 9am", "say": "x"}]
    file.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    done = cli("apply", "-f", str(file), "--yes", "--json", HORAE_ZONE="Europe/Berlin")
    assert "Europe/Berlin is used, because HORAE_ZONE says so" in no_zone(done.json)[0]
    assert cli("ls", "--json").json[0]["zone"] == "Europe/Berlin"


def test_file_of_tasks_takes_the_zone_of_the_owner(cli: Cli) -> None:
    assert cli("owner", "add", "ada", "--zone", "Asia/Shanghai").code == 0
    assert cli("owner", "set", "local", "--zone", "Europe/Berlin").code == 0
    tasks = [
        {"name": "theirs", "when": "every day at 09:00", "say": "x", "owner": "ada"},
        {"name": "mine", "when": "every day at 09:00", "say": "x"},
        {"name": "named", "when": "every day at 09:00", "say": "x", "zone": "Asia/Tokyo"},
    ]
    (cli.directory / "tasks.json").write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    assert cli("apply", "-f", "tasks.json", "--yes").code == 0
    zones = {each["name"]: each["when"]["zone"] for each in cli("ls", "--json").json}
    assert zones == {"theirs": "Asia/Shanghai", "mine": "Europe/Berlin", "named": "Asia/Tokyo"}
    assert cli("apply", "-f", "tasks.json", "--yes", "--json").json["applied"] is False
