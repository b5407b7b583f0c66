"""`horae group`: registers, lists, shows, changes, stops, starts and removes chats, at a store and at a server."""

from __future__ import annotations

import asyncio
import json
import shlex
from datetime import timedelta
from pathlib import Path

from horae import Horae
from horae.model.agents.known_chat import KnownChat, known_chat_record
from horae.model.record import RecordWrite
from horae.testing.factories import NOON
from tests.cli.command_line import Cli


def test_group_is_registered_changed_stopped_and_removed(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert "horae group add" in cli("group", "ls").err
    added = cli(
        "group", "add", "family", "telegram:-100123", "--trigger", "@Nova", "--no-trigger", "--zone", "Asia/Shanghai",
        "--timeout", "10m", "--idle", "90s", "--max-run", "2h", "--memory", "512", "--mount", "/srv/photos:photos:rw", "--mount", "/srv/music",
        "--node", "north", "--json",
    )  # fmt: skip
    assert added.code == 0, added.err
    shown = added.json
    assert (shown["owner"], shown["requires_trigger"], shown["main"]) == ("group:family", False, False)
    assert (shown["timeout"], shown["idle"], shown["max_run"]) == ("PT10M", "PT1M30S", "PT2H")
    assert shown["memory_megabytes"] == 512
    assert shown["mounts"] == [
        {"path": "/srv/photos", "name": "photos", "writable": True},
        {"path": "/srv/music", "name": "music", "writable": False},
    ]
    assert cli("group", "show", "family", "--json").json == shown
    text = cli("group", "show", "family").out
    assert "/srv/photos:photos:rw" in text
    assert "0 stored, 0 waiting" in text
    changed = cli("group", "set", "family", "--requires-trigger", "--zone", "", "--mount", "none", "--main", "--json")
    assert (changed.json["zone"], changed.json["mounts"], changed.json["main"]) == (None, [], True)
    assert [each["stopped"] for each in cli("group", "stop", "family", "--json").json] == [True]
    assert "stopped" in cli("group", "ls").out
    assert [each["stopped"] for each in cli("group", "start", "--all", "--json").json] == [False]
    assert cli("group", "start", "--all", "--json").json == []
    assert cli("group", "rm", "family", "--json").problem["code"] == "needs_yes"
    assert cli("group", "rm", "family", "--yes", "--json").json == {"removed": "family"}
    assert cli("group", "ls", "--json").json == []
    assert "revoked" in cli("owner", "show", "group:family").out


def test_refusals_have_hints_that_work(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert cli("group", "add", "family", "web:1").code == 0
    codes = {
        ("add", "family", "web:2"): "group_exists",
        ("add", "other", "web:1"): "chat_taken",
        ("add", "global", "web:3"): "bad_folder",
        ("add", "../x", "web:3"): "bad_folder",
        ("add", "other", "web"): "bad_chat_address",
        ("add", "other", "web:3", "--timeout", "soon"): "bad_duration",
        ("add", "other", "web:3", "--memory", "1"): "bad_number",
        ("add", "other", "web:3", "--zone", "Mars"): "unknown_zone",
        ("add", "other", "web:3", "--mount", "srv:x"): "bad_mount",
        ("add", "other", "web:3", "--mount", "/a:b:c:rw"): "bad_mount",
        ("set", "family"): "no_group_setting",
        ("set", "other", "--main"): "no_such_group",
        ("show", "other"): "no_such_group",
        ("rm", "other", "--yes"): "no_such_group",
        ("stop",): "group_or_all",
        ("start", "family", "--all"): "group_or_all",
    }
    for words, code in codes.items():
        refused = cli("group", *words, "--json")
        assert refused.problem["code"] == code, words
        assert refused.problem["hint"], words
    assert [each["folder"] for each in cli("group", "ls", "--json").json] == ["family"]
    assert "没有群组" in cli("--lang", "zh", "group", "show", "other").err


def test_tasks_of_a_group_are_those_of_its_owner(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "family", "web:1", "--zone", "Asia/Shanghai")
    made = cli("add", "every day at 9am", "--say", "tea", "--owner", "group:family", "--json").json["task"]
    assert made["zone"] == "Asia/Shanghai"
    assert [each["id"] for each in cli("ls", "--owner", "group:family", "--json").json] == [made["id"]]


def test_prompt_for_a_group_is_one_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "family", "web:1", "--zone", "Asia/Shanghai")
    words = ("--prompt", "Summarise the day", "--group", "family", "--context", "group")
    made = cli("add", "every day at 9:00", *words, "--json").json
    task = made["task"]
    assert (task["owner"], task["zone"], task["name"]) == ("group:family", "Asia/Shanghai", "Summarise the day")
    assert task["target"] == {"kind": "agent", "group": "family", "context_mode": "group"}
    assert task["payload"] == {"prompt": "Summarise the day"}
    assert (task["lane"], task["policies"]["lanes"]) == ("group:family", ["agents"])
    assert "agent: family (group)" in cli("show", task["id"]).out
    edited = cli("edit", task["id"], "--prompt", "Say good night", "--json").json["task"]
    assert (edited["payload"], edited["target"]) == ({"prompt": "Say good night"}, task["target"])
    unknown = cli("add", "every day at 9:00", "--prompt", "x", "--group", "work", "--json").json
    assert "horae group add work" in " ".join(each["message"] for each in unknown["warnings"])
    assert cli("add", "every 1h", "--say", "x", "--context", "group", "--json").problem["code"] == "only_for_group"
    assert cli("add", "every 1h", "--say", "x", "--group", "family", "--json").problem["code"] == "two_targets"
    assert cli("add", "every 1h", "--group", "family", "--json").problem["code"] == "agent_spec"


def test_budget_of_a_prompt_is_an_option_and_survives_export_and_apply(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "family", "web:1")
    cli("group", "set", "family", "--budget", "cost=2.5/day")
    words = (
        "--group",
        "family",
        "--prompt",
        "hi",
        "--name",
        "hi",
        "--budget",
        "tokens=20000/day",
        "--budget",
        "runs=4",
    )
    task = cli("add", "every day at 9:00", *words, "--json").json["task"]
    assert task["target"]["budget"] == {"tokens": 20000, "runs": 4}
    assert "family (isolated), tokens=20000/day, runs=4/day" in cli("show", "hi").out
    edited = cli("edit", "hi", "--budget", "cost=1.5", "--budget", "runs=none", "--context", "series", "--json").json
    target = edited["task"]["target"]
    assert target == {
        "kind": "agent", "group": "family", "context_mode": "series", "budget": {"tokens": 20000, "cost": 1.5}
    }  # fmt: skip
    refused = {
        ("edit", "hi", "--budget", "minutes=3"): "bad_choice",
        ("edit", "hi", "--budget", "tokens"): "bad_budget",
        ("edit", "hi", "--budget", "runs=1", "--say", "x"): "two_targets",
        ("add", "every 1h", "--say", "x", "--budget", "runs=1"): "only_for_group",
    }
    for command, code in refused.items():
        assert cli(*command, "--json").problem["code"] == code, command
    (tmp_path / "export.jsonl").write_text(cli("export").out, encoding="utf-8")
    (tmp_path / "other").mkdir()
    other = Cli(tmp_path / "other")
    assert other("import", str(tmp_path / "export.jsonl")).code == 0
    assert other("show", "hi", "--json").json["task"]["target"] == target
    assert other("group", "budget", "family", "--json").json["limits"] == {"tokens": None, "cost": 2.5, "runs": None}
    tasks = {
        "tasks": [
            {"name": "hi", "when": "every 1h", "agent": {"group": "family", "prompt": "hi", "budget": {"runs": 2}}}
        ]
    }
    (tmp_path / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    assert other("apply", "-f", str(tmp_path / "tasks.json"), "--yes").code == 0
    budgets = [each["target"]["budget"] for each in other("ls", "--json").json if each["key"] == "apply:hi"]
    assert budgets == [{"runs": 2}]


def test_mounts_outside_of_the_operators_list_are_warned_about(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    (tmp_path / "horae.toml").write_text(f'[targets.agent]\ndirectory = "{tmp_path}"\n', encoding="utf-8")
    (tmp_path / "photos").mkdir()
    added = cli("group", "add", "family", "web:1", "--mount", f"{tmp_path}/photos:photos", "--json").json
    assert [each["code"] for each in added["warnings"]] == ["mount_list_missing"]
    text = f'{{"allowedRoots": [{{"path": "{tmp_path}/photos"}}]}}'
    (tmp_path / "mount-allowlist.json").write_text(text, encoding="utf-8")
    assert cli("group", "show", "family", "--json").json["warnings"] == []


def test_unregistered_chats_are_listed_with_the_command_that_registers_one(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "team", "telegram:-1")
    assert "No chat without a group" in cli("group", "unregistered").err
    chats = (
        KnownChat("telegram:-1", "Registered since", NOON),
        KnownChat("telegram:-2", "Team", NOON),
        KnownChat("telegram:7", "Ann's phone", NOON + timedelta(hours=1), is_direct=True),
    )
    asyncio.run(note_chats(tmp_path, chats))
    listed = cli("group", "unregistered", "--json").json
    assert [each["chat"] for each in listed] == ["telegram:7", "telegram:-2"]
    assert [each["folder"] for each in listed] == ["ann-s-phone", "team-2"]
    text = cli("group", "unregistered")
    assert "telegram:-2" in text.out
    command = "horae group add ann-s-phone telegram:7 --name 'Ann'\"'\"'s phone' --no-trigger"
    assert command == listed[0]["command"]
    assert command in " ".join(text.err.split())
    assert cli(*shlex.split(command)[1:]).code == 0
    assert [each["chat"] for each in cli("group", "unregistered", "--json").json] == ["telegram:-2"]
    assert "最近活动" in cli("--lang", "zh", "group", "unregistered").out


async def note_chats(folder: Path, chats: tuple[KnownChat, ...]) -> None:
    async with Horae(f"sqlite:///{folder}/horae.db", engine=False) as app:
        assert await app.store.write_records([RecordWrite(known_chat_record(each)) for each in chats])
