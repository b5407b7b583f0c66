"""`horae add`, `edit` and `show`: options are stored, and the receipt shows the result."""

from __future__ import annotations

import json

import pytest

from tests.cli.command_line import Cli


def test_receipt_shows_task_times_and_undo(cli: Cli) -> None:
    done = cli("add", "every weekday at 9am", "--name", "morning", "--say", "hello", "--tz", "Asia/Shanghai")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("✓ morning  tsk_")
    assert lines[1] == "  When   Monday to Friday at 09:00, Asia/Shanghai"
    assert lines[2].startswith("  Next   ")
    assert all("09:00 +08:00" in line and line.endswith("01:00Z") for line in lines[2:5])
    assert lines[6] == "  Late   run the latest once within 24h · overlap skip · retries 3 · timeout 5m"
    assert lines[7].startswith("  Undo   horae rm tsk_")
    assert lines[8] == "  See    horae show morning"
    assert "horae up" in done.err


def test_task_is_stored_with_all_options(cli: Cli) -> None:
    done = cli(
        *("add", "every 5m", "--json", "--name", "mail", "--key", "m-1", "--lane", "mail", "--label", "source=test"),
        *("--http", "PUT", "https://example.com/mail", "--header", "X-A: b", "--sign", "hook", "--body", '{"a": 1}'),
        *(
            "--header",
            "Authorization: Bearer @secret:token",
            "--payload",
            '{"to": "andy"}',
            "--missed",
            "all within 2h",
        ),
        *(
            "--overlap",
            "queue",
            "--retries",
            "7",
            "--timeout",
            "90s",
            "--max-duration",
            "1h",
            "--give-up-after",
            "never",
        ),
        *("--guarantee", "at_least_once", "--priority", "-5", "--zone", "Europe/Berlin"),
    )
    assert done.code == 0, done.err
    task = done.json["task"]
    assert (task["name"], task["key"], task["lane"], task["labels"]) == ("mail", "m-1", "mail", {"source": "test"})
    target = task["target"]
    assert (target["method"], target["url"], target["body"]) == ("PUT", "https://example.com/mail", {"a": 1})
    assert target["headers"] == {"X-A": "b", "Authorization": ["Bearer ", {"secret": "token"}]}
    assert target["sign"] == {"secret": "hook"}
    assert task["payload"] == {"to": "andy"}
    policies = task["policies"]
    assert policies["missed"] == {"mode": "all", "within": "PT2H", "limit": 100}
    assert (policies["overlap"], policies["retry"]["attempts"], policies["timeout"]) == ("queue", 8, "PT1M30S")
    assert (policies["max_duration"], policies["give_up_after"], policies["priority"]) == ("PT1H", None, -5)
    assert (task["zone"], len(done.json["fires"])) == ("Europe/Berlin", 3)


def test_command_is_given_after_two_dashes(cli: Cli) -> None:
    allowed = {"HORAE_COMMAND_ALLOW": "*"}
    done = cli("add", "every", "1h", "--command", "--json", "--", "echo", "--json", "-5", **allowed)
    assert done.code == 0, done.err
    assert done.json["task"]["target"]["argv"] == ["echo", "--json", "-5"]
    assert done.json["task"]["name"] == "echo"


@pytest.mark.parametrize(
    ("options", "kind", "name"),
    [
        (["--say", "tick"], "event", "tick"),
        (["--event", "orders.new"], "event", "orders.new"),
        (["--function", "app.report"], "function", "app.report"),
        (["--http", "https://example.com/a"], "http", "example.com/a"),
        (["--target", '{"kind": "event", "topic": "x"}'], "event", "event"),
    ],
)
def test_default_name_is_derived_from_the_target(cli: Cli, options: list[str], kind: str, name: str) -> None:
    task = cli("add", "every 5m", *options, "--json").json["task"]
    assert (task["target"]["kind"], task["name"]) == (kind, name)


def test_payload_is_read_from_a_file_or_stdin(cli: Cli) -> None:
    (cli.directory / "payload.json").write_text('{"n": 1}', encoding="utf-8")
    assert cli("add", "every 5m", "--say", "a", "--payload", "@payload.json", "--json").json["task"]["payload"] == {
        "n": 1
    }
    from_outside = cli("add", "every 5m", "--say", "b", "--payload", "-", "--json", stdin='{"n": 2}')
    assert from_outside.json["task"]["payload"] == {"n": 2}


def test_dry_run_creates_neither_task_nor_store(cli: Cli) -> None:
    done = cli("add", "every 5m", "--say", "tick", "--dry-run")
    assert done.code == 0
    assert "nothing was made" in done.out
    assert not cli.path.exists()
    assert cli("add", "every 5m", "--command", "--dry-run", "--", "backup").code == 6


def test_add_with_a_key_creates_one_task(cli: Cli) -> None:
    first = cli("add", "every 5m", "--say", "tick", "--key", "k", "--json").json["task"]
    again = cli("add", "every 10m", "--say", "tick", "--key", "k", "--json").json["task"]
    assert (first["id"], again["version"]) == (again["id"], 2)
    assert len(cli("ls", "--json").json) == 1


def test_add_can_create_a_paused_task(cli: Cli) -> None:
    done = cli("add", "every 5m", "--say", "tick", "--pause")
    assert "paused; resume it by horae resume" in done.out
    assert cli("ls", "--json").json[0]["state"] == "paused"


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["every day at 9", "--say", "x"], "ambiguous_hour", 6),
        (["every 5m"], "no_work", 2),
        (["every 5m", "--say", "x", "--http", "https://example.com"], "two_targets", 6),
        (["every 5m", "--say", "x", "--header", "A: b"], "only_for_http", 2),
        (["every 5m", "--http", "https://example.com", "--header", "nonsense"], "bad_header", 2),
        (["every 5m", "--say", "x", "--label", "nonsense"], "bad_label", 2),
        (["every 5m", "--say", "x", "--payload", "{"], "bad_json_option", 2),
        (["every 5m", "--say", "x", "--missed", "perhaps"], "bad_choice", 6),
        (["every 5m", "--say", "x", "--retries", "many"], "bad_number", 6),
        (["every 5m", "--say", "x", "--timeout", "soon"], "bad_duration", 6),
        (["every 5m", "--say", "x", "--zone", "Nowhere/Land"], "unknown_zone", 6),
        (["every 5m", "--say", "x", "--", "echo"], "stray_words", 2),
        (["every 5m", "--target", '{"kind": "unheard_of"}'], "unknown_target", 6),
        (["every 5m", "--say", "x", "--payload", "@nowhere.json"], "system_error", 1),
        (["every 5m", "--say", "x", "--name", ""], "bad_text", 6),
        (["every 5m", "--http", "GET"], "no_address", 2),
        (["every 5m", "example.com/x", "--http", "post"], "no_address", 2),
    ],
)
def test_invalid_task_is_refused_and_not_created(cli: Cli, arguments: list[str], code: str, exit_code: int) -> None:
    done = cli("add", "--json", *arguments)
    assert (done.problem["code"], done.code, done.problem["exit"]) == (code, exit_code, exit_code)
    assert done.out == ""
    assert cli("ls", "--json").json == []


def test_caret_points_into_the_typed_text(cli: Cli) -> None:
    done = cli("add", "every wekday at 9am", "--say", "x")
    assert done.err.splitlines()[:3] == ['✕ "wekday" is not understood here.', "  every wekday at 9am", "        ^"]


def test_edit_changes_only_given_fields_and_shows_the_fires(cli: Cli) -> None:
    cli("add", "0 9 * * *", "--say", "tick", "--zone", "UTC", "--retries", "2")
    tried = cli("edit", "tick", "--when", "30 9 * * *", "--dry-run", "--json").json
    assert tried["dry_run"] is True
    assert cli("show", "tick", "--json").json["task"]["version"] == 1
    done = cli("edit", "tick", "--when", "30 9 * * *")
    assert done.code == 0
    assert "version 2" in done.out.splitlines()[0]
    assert any(line.startswith("  Gone   - ") and " 09:00 " in line for line in done.out.splitlines())
    assert any(line.startswith("  New    + ") and " 09:30 " in line for line in done.out.splitlines())
    assert "nothing fires for the past" in done.out
    assert cli("show", "tick", "--json").json["task"]["policies"]["retry"]["attempts"] == 3


def test_edit_of_one_policy_names_it(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert cli("edit", "tick", "--zone", "Berlin", "--json").json["task"]["zone"] == "Europe/Berlin"
    changed = cli("edit", "tick", "--overlap", "queue", "--name", "tock", "--json").json["changed"]
    assert changed == {"name": {"from": "tick", "to": "tock"}, "policies.overlap": {"from": "skip", "to": "queue"}}
    assert "stays as it is" in cli("edit", "tock", "--overlap", "queue").out


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["tick", "--if-version", "7", "--name", "x"], "stale_version", 5),
        (["tick"], "nothing_to_change", 2),
        (["nothing", "--name", "x"], "no_such_task", 3),
        (["tick", "--when", "every day at 9"], "ambiguous_hour", 6),
        (["tick", "stray", "--name", "x"], "stray_words", 2),
        (["tick", "--name", ""], "bad_text", 6),
        (["tick", "--http", "GET"], "no_address", 2),
    ],
)
def test_invalid_edit_is_refused(cli: Cli, arguments: list[str], code: str, exit_code: int) -> None:
    cli("add", "every 5m", "--say", "tick")
    done = cli("edit", "--json", *arguments)
    assert (done.problem["code"], done.code) == (code, exit_code)


def test_show_prints_definition_state_and_next_fires(cli: Cli) -> None:
    cli("add", "0 9 * * *", "--say", "tick", "--zone", "UTC", "--key", "k", "--lane", "slow", "--label", "a=b")
    done = cli("show", "tick")
    assert done.code == 0
    for expected in ("event: tick", "active", "  Key    k", "  Lane   slow", "  Labels a=b", "give up after 10"):
        assert expected in done.out
    assert len(cli("show", "tick", "--json").json["fires"]) == 5


def test_task_is_found_by_id_name_key_and_unique_prefix(cli: Cli) -> None:
    task = cli("add", "every 5m", "--say", "morning report", "--key", "daily-1", "--json").json["task"]
    for name in (task["id"], task["id"][:20], "morning report", "morning", "daily-1"):
        assert cli("show", name, "--json").json["task"]["id"] == task["id"], name
    cli("add", "every 5m", "--say", "morning mail")
    done = cli("show", "morning", "--json")
    assert (done.code, done.problem["code"]) == (5, "ambiguous_name")


def test_chinese_schedule_gets_a_chinese_receipt(cli: Cli) -> None:
    done = cli("add", "每天早上9点", "--say", "天气")
    assert "  时间   每天 09:00" in done.out
    assert "没有给出时区" in done.err
    assert json.loads(cli("show", "天气", "--json", "--lang", "zh").out)["task"]["means"].startswith("每天")


def test_quiet_prints_only_the_id(cli: Cli) -> None:
    done = cli("add", "every 5m", "--say", "tick", "--quiet")
    assert done.out.startswith("tsk_")
    assert (len(done.out.splitlines()), done.err) == (1, "")


def test_task_with_several_schedules_is_added_edited_and_listed(cli: Cli) -> None:
    added = cli("add", "every weekday at 9am and Sat at 11am", "--name", "several", "--say", "x", "--zone", "UTC")
    assert added.out.splitlines()[1] == "  When   Monday to Friday at 09:00 and every Saturday at 11:00, UTC"
    assert "Monday to Friday at 09:00 and every Saturday" in " ".join(cli("ls").out.split())
    when = cli("show", "several", "--json").json["task"]["when"]
    assert [each["kind"] for each in when["schedules"]] == ["calendar", "calendar"]
    edited = cli("edit", "several", "--when", '["every day at 8am", "0 12 * * 6"]', "--json")
    assert [each["kind"] for each in edited.json["task"]["when"]["schedules"]] == ["calendar", "cron"]
