"""`horae notify`: destinations from standard input, their test message, and a URL that no output contains."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Final

from tests.cli.command_line import Cli
from tests.unit.notifiers.message_servers import http_receiver

LOOPBACK: Final = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}


async def test_destination_is_added_tested_listed_and_removed(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    async with http_receiver() as receiver:
        url = receiver.url("/SecretToken")
        added = cli(
            "notify", "add", "ops", "-", "--quiet-hours", "22:00-07:00", "--zone", "Asia/Shanghai", stdin=url + "\n"
        )
        assert (added.code, added.out) == (0, "✓ ops: messages go to JSON.\n")
        blocked = await asyncio.to_thread(cli, "notify", "test", "ops")
        sent = await asyncio.to_thread(partial(cli, "notify", "test", "ops", **LOOPBACK))
    assert (blocked.code, sent.code) == (1, 0)
    assert "outgoing_networks" in blocked.out
    assert "须由运维人员加入 outgoing_networks" in cli("--lang", "zh", "notify", "notices", "ops").out
    assert [each["title"] for each in receiver.messages] == ["Test message of Horae"]
    listed = cli("notify", "ls")
    assert "22:00-07:00 Asia/Shanghai" in listed.out
    notices = cli("notify", "notices", "ops")
    assert "Not sent" not in notices.out
    shown = cli("notify", "ls", "--json").json[0]
    assert (shown["url"], shown["last"]["ok"], shown["blocked"]) == ("json://…", True, None)
    task = cli("add", "every 1h", "--say", "tick", "--notify", "ops", "--notify-on", "overdue", "--json").json["task"]
    assert task["policies"]["notify"] == {"to": ["ops"], "on": ["overdue"]}
    assert "messages to ops on overdue" in cli("show", task["id"]).out
    cleared = cli("edit", task["id"], "--notify", "never", "--json").json["task"]
    assert cleared["policies"]["notify"] is None
    changed = cli("notify", "set", "ops", "--quiet-hours", "none", "--no-reminders", "--language", "zh", "--json").json
    assert (changed["quiet"], changed["reminders"], changed["language"]) == (None, False, "zh")
    removed = cli("notify", "rm", "ops", "--yes", "--json")
    assert removed.json == {"removed": "ops"}
    outputs = (added, blocked, sent, listed, notices, removed)
    assert not any("SecretToken" in text for each in outputs for text in (each.out, each.err))
    assert b"SecretToken" not in cli.path.read_bytes()


def test_bad_urls_and_unknown_names_are_refused_with_a_hint(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    refused = cli("notify", "add", "ops", "-", "--json", stdin="nothing://SecretToken")
    assert refused.problem["code"] == "notify_schema"
    assert "SecretToken" not in refused.err
    assert cli("notify", "add", "ops", "--json").problem["code"] == "no_destination_url"
    assert cli("notify", "rm", "ops", "--yes", "--json").problem["code"] == "no_such_destination"
    unknown = cli("add", "every 1h", "--say", "tick", "--notify", "ops", "--json").problem
    assert unknown["code"] == "unknown_destination"
    assert "horae notify add ops" in unknown["hint"]
    for option in (("--notify-on", "failed"), ("--notify-text", "look")):
        alone = cli("add", "every 1h", "--say", "x", *option, "--json").problem
        assert (alone["code"], alone["exit"]) == ("notify_without_destination", 2)
        assert "--notify NAME" in alone["hint"]
