"""`horae messages`: send, read, readers, caps and deletion, at a store."""

from __future__ import annotations

import json

from tests.cli.command_line import Cli


def test_messages_are_sent_and_read(cli: Cli) -> None:
    assert "No streams yet" in cli("messages", "ls").err
    assert "Message 1 of chat:1." in cli("messages", "send", "chat:1", "hello", "--sender", "Ada", "--id", "m-1").out
    assert json.loads(cli("messages", "send", "chat:1", "again", "--id", "m-1", "--json").out)["numbers"] == [1]
    cli("messages", "send", "chat:1", "-", stdin="from standard input")
    assert "Ada: hello" in cli("messages", "read", "chat:1").out
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
