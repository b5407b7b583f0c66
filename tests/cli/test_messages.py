"""`horae messages`: send, read, readers, caps and deletion, at a store."""

from __future__ import annotations

import json
from typing import Any

from horae.cli.command_table import COMMANDS
from horae.cli.main import app
from horae.cli.output.command_hints import OWNER_COMMANDS
from horae.runtime.stores import make_store
from tests.cli.command_line import Cli
from tests.handled_messages import handle_messages


def test_messages_are_sent_and_read(cli: Cli) -> None:
    assert "No streams yet" in cli("messages", "ls").err
    assert "Message 1 of chat:1." in cli("messages", "send", "chat:1", "hello", "--sender", "Ada", "--id", "m-1").out
    assert json.loads(cli("messages", "send", "chat:1", "again", "--id", "m-1", "--json").out)["numbers"] == [1]
    cli("messages", "send", "chat:1", "-", stdin="from standard input")
    assert "Ada: hello" in cli("messages", "read", "chat:1").out
    cli("messages", "send", "lines:1", "one\n\n2  two\x1b[2J\r\nthree\n")
    assert cli("messages", "read", "lines:1").out.endswith(": one\n    \n    2  two\ufffd[2J\n    three\n")
    page = json.loads(cli("messages", "read", "chat:1", "--after", "1", "--json").out)
    assert [each["text"] for each in page["messages"]] == ["from standard input"]
    assert "chat:1" in cli("messages", "ls").out
    assert cli("messages", "read", "chat:1", "-q").out.split() == ["1", "2"]
    assert "More: horae messages read chat:1 --after 1" in cli("messages", "read", "chat:1", "--limit", "1").err


def test_readers_caps_and_deletion(cli: Cli) -> None:
    cli("messages", "send", "chat:1", "hello")
    assert "up to number 0" in cli("messages", "reader", "chat:1", "handled", "--after", "0").out
    assert "handled" in cli("messages", "show", "chat:1").out
    assert json.loads(cli("messages", "show", "chat:1", "--json").out)["cursors"][0]["number"] == 0
    assert "is removed" in cli("messages", "reader", "chat:1", "handled", "--remove").out
    assert json.loads(cli("messages", "set", "chat:1", "--keep", "5", "--keep-for", "30d", "--json").out)["keep"] == 5
    assert json.loads(cli("messages", "rm", "chat:1", "--yes", "--json").out) == {"removed": "chat:1"}
    gone = cli("messages", "read", "chat:1")
    assert gone.code == 3
    assert "There is no stream 'chat:1'." in gone.err


async def test_run_and_stream_name_each_other(cli: Cli) -> None:
    store = make_store(cli.url)
    await store.open()
    run_id = (await handle_messages(store, "local")).id
    await store.close()
    assert "Read   chat:1 1-3, reader handled" in cli("show", run_id).out
    assert json.loads(cli("show", run_id, "--json").out)["handled"] == [
        {"stream": "chat:1", "reader": "handled", "first": 1, "last": 3}
    ]
    assert "已读   chat:1 1-3" in cli("show", run_id, "--lang", "zh").out
    assert run_id in cli("messages", "show", "chat:1").out
    assert json.loads(cli("messages", "show", "chat:1", "--json").out)["cursors"][0]["run_id"] == run_id


def test_every_subcommand_with_an_owner_is_completed_with_it() -> None:
    group: Any = app
    with_owner: dict[str, set[str]] = {}
    for family in COMMANDS:
        for name, command in getattr(group.get_command(None, family), "commands", {}).items():
            if any("--owner" in each.opts for each in command.params):
                with_owner.setdefault(family, set()).add(name)
    assert with_owner == OWNER_COMMANDS


def test_hints_repeat_the_owner_of_the_command(cli: Cli) -> None:
    owned = ("--owner", "group:family")
    cli("messages", "send", "chat:2", "hello")
    assert "horae messages ls --owner group:family" in cli("messages", "read", "chat:1", *owned).err
    assert cli("messages", "read", "chat:1").err.rstrip().endswith("horae messages ls")
    for text in ("one", "two"):
        cli("messages", "send", "chat:1", text, *owned)
    page = cli("messages", "read", "chat:1", "--limit", "1", *owned)
    assert "More: horae messages read --owner group:family chat:1 --after 1" in page.err
    unknown = cli("messages", "read", "chat:1", "--reader", "handled", *owned)
    assert "horae messages reader --owner group:family chat:1 handled" in unknown.err
