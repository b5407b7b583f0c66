"""Import of a whole NanoClaw installation, of three ages: afterwards the host goes on with the first message that waits."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from horae.agents.target.records import SESSION_KIND, session_from
from horae.interchange import nanoclaw
from horae.interchange.nanoclaw_chats import MAX_MESSAGES, chat_address, read_messages
from horae.model.accounts.principal import LOCAL
from horae.model.message_refusals import refuse
from horae.model.messages import Message, NewMessage
from horae.ports.chat_messages import read_chat_message
from horae.service.messages.streams import Streams
from tests.agents.groups.installations import AGES, GROUP_ROW, JID, SESSION, TALK, Age, make_installation, moment
from tests.agents.host.host_harness import open_host
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.unit.interchange.nanoclaw_files import put

STREAM = "chat:telegram:-100"
OWNER = ("--owner", "group:family")


def cli_for(tmp_path: Path) -> Cli:
    """Return a deployment whose settings name a directory for agents."""
    home = tmp_path / "here"
    home.mkdir(exist_ok=True)
    (home / "horae.toml").write_text(f'[targets.agent]\ndirectory = "{tmp_path / "agents"}"\n', encoding="utf-8")
    return Cli(home)


def run_import(tmp_path: Path, *words: str) -> dict[str, Any]:
    done = cli_for(tmp_path)(
        "import", str(tmp_path / "nanoclaw"), "--zone", "UTC", "--json", *words, HOME=str(tmp_path)
    )
    assert done.code == 0, done.err
    check_schema("import", done.json)
    return dict(done.json)


async def refuse_messages(*_: object, **__: object) -> None:
    raise refuse("empty_message")


def waiting(cli: Cli) -> list[str]:
    page = cli("messages", "read", STREAM, *OWNER, "--reader", "handled", "--json").json
    return [each["text"] for each in page["messages"]]


@pytest.mark.parametrize("age", AGES)
def test_whole_installation_is_imported(tmp_path: Path, age: Age) -> None:
    make_installation(tmp_path / "nanoclaw", age)
    answer = run_import(tmp_path)
    (chat,) = answer["chats"]
    assert (chat["folder"], chat["chat"], chat["change"]) == ("family", "telegram:-100", "new")
    assert (chat["messages"], chat["waiting"], chat["session"]) == (4, 2, True)
    assert chat["files"] == {"copied": 4, "known": 0, "left": 0, "over": 0}
    cli = cli_for(tmp_path)
    group = cli("group", "show", "family", "--json").json
    assert (group["trigger"], group["zone"], group["stopped"], group["waiting"]) == ("@Andy", "UTC", False, 2)
    assert waiting(cli) == ["lunch?", "@Andy when is lunch?"]
    (task,) = cli("ls", *OWNER, "--json").json
    assert task["target"] == {"kind": "agent", "group": "family", "chat": JID, "context_mode": "isolated"}
    agents = tmp_path / "agents"
    assert (agents / "groups/family/CLAUDE.md").read_text() == "Ada likes tea.\n"
    assert (agents / "groups/global/CLAUDE.md").read_text() == "Be brief.\n"
    assert (agents / "data/sessions/family/.claude/session.jsonl").exists()
    assert not (agents / "groups/family/logs").exists()


@pytest.mark.parametrize("age", AGES)
def test_messages_are_as_a_channel_would_have_stored_them(tmp_path: Path, age: Age) -> None:
    make_installation(tmp_path / "nanoclaw", age)
    run_import(tmp_path)
    page = cli_for(tmp_path)("messages", "read", STREAM, *OWNER, "--json").json["messages"]
    read = [
        read_chat_message(
            Message("", each["number"], NewMessage("", each["text"], each["sender"], each["source"], each["id"],
                                                   None, json.dumps(each["references"])))  # type: ignore[arg-type]
        )
        for each in page
    ]  # fmt: skip
    assert [(each.sender_name, each.text, each.is_own) for each in read] == [
        (sender, text, sender == "Andy") for sender, text in TALK
    ]
    assert [each.sent.isoformat() for each in read] == [moment(n).replace(".000Z", "+00:00") for n in range(4)]
    assert (read[3].quoted is not None) == (age == "1.2")
    assert page[0]["id"] == "-100:m0"


@pytest.mark.parametrize("age", AGES)
def test_repeated_import_changes_nothing(tmp_path: Path, age: Age) -> None:
    make_installation(tmp_path / "nanoclaw", age)
    run_import(tmp_path)
    cli = cli_for(tmp_path)
    cli("group", "set", "family", "--trigger", "@Nova")
    before = [
        cli(*words, "--json").json for words in (("group", "ls"), ("ls", *OWNER), ("messages", "show", STREAM, *OWNER))
    ]
    again = run_import(tmp_path)
    assert (again["new"], again["changed"], again["same"]) == (0, 0, 1)
    (chat,) = again["chats"]
    assert (chat["change"], chat["messages"], chat["files"]["copied"], chat["files"]["known"]) == ("same", 0, 0, 4)
    after = [
        cli(*words, "--json").json for words in (("group", "ls"), ("ls", *OWNER), ("messages", "show", STREAM, *OWNER))
    ]
    assert after == before


def test_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2")
    tried = run_import(tmp_path, "--dry-run")
    assert not (tmp_path / "agents").exists()
    assert cli_for(tmp_path)("group", "ls", "--json").json == []
    done = run_import(tmp_path)
    assert tried["chats"] == done["chats"]


def test_without_a_cursor_messages_after_the_last_answer_wait(tmp_path: Path) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2", handled=None)
    assert run_import(tmp_path)["chats"][0]["waiting"] == 2


def test_messages_of_one_instant_after_the_cursor_all_wait(tmp_path: Path) -> None:
    talk = [("Ada", f"m {number}") for number in range(3)]
    root = make_installation(tmp_path / "nanoclaw", "1.2", talk, handled=1)
    database = root / "store" / "messages.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE messages SET timestamp = ? WHERE id <> 'm0'", (moment(5),))
    connection.close()
    run_import(tmp_path)
    assert waiting(cli_for(tmp_path)) == ["m 1", "m 2"]


def test_only_the_newest_messages_are_taken_and_the_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_MESSAGES == 10_000
    monkeypatch.setattr("horae.interchange.nanoclaw_chats.MAX_MESSAGES", 3)
    make_installation(tmp_path / "nanoclaw", "1.2", [*TALK, ("Ada", "")])
    (conversation,) = nanoclaw.read(tmp_path / "nanoclaw/store/messages.db", zone="UTC").conversations
    found = read_messages(conversation)
    assert ([each.text for each in found.messages], found.handled) == (["lunch?", "@Andy when is lunch?"], 0)
    assert (found.older, found.unreadable) == (2, 1)


def test_odd_messages_stop_no_import(tmp_path: Path) -> None:
    root = make_installation(tmp_path / "nanoclaw", "1.2")
    with sqlite3.connect(root / "store" / "messages.db") as connection:
        put(
            connection,
            "messages",
            id="x\ufe0f\u200b",
            chat_jid=JID,
            content="a\0b",
            timestamp=moment(9),
            sender="\u200b",
        )
        put(connection, "messages", id="y" * 500, chat_jid=JID, content="long id", timestamp=moment(10))
        put(connection, "messages", id="z", chat_jid=JID, content="no time", timestamp="soon")
        put(connection, "messages", id="w", chat_jid=JID, content="t" * 70_000, timestamp=moment(11))
        put(connection, "messages", id=b"\xff", chat_jid=JID, content=b"\xff", timestamp=moment(12))
    connection.close()
    answer = run_import(tmp_path)
    assert answer["chats"][0]["messages"] == 5
    assert any(each["note"].startswith("4 messages without text") for each in answer["notes"])
    assert waiting(cli_for(tmp_path))[-1] == "ab"


def test_group_that_is_refused_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [GROUP_ROW, {**GROUP_ROW, "jid": "tg:2", "folder": "work"}]
    make_installation(tmp_path / "nanoclaw", "1.2", groups=groups)
    monkeypatch.setattr(Streams, "send", refuse_messages)
    answer = run_import(tmp_path)
    assert [(each["folder"], each["messages"]) for each in answer["chats"]] == [("family", 0), ("work", 0)]
    stopped = {each["folder"]: each["stopped"] for each in cli_for(tmp_path)("group", "ls", "--json").json}
    assert stopped == {"family": True, "work": False}
    assert any(each["source"] == "group family" for each in answer["notes"])


def test_links_and_pipes_are_neither_followed_nor_copied(tmp_path: Path) -> None:
    root = make_installation(tmp_path / "nanoclaw", "1.2")
    family = root / "groups" / "family"
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hidden")
    (family / "link").symlink_to(secret / "key")
    (family / "linked").symlink_to(secret)
    os.mkfifo(family / "pipe")
    (chat,) = run_import(tmp_path)["chats"]
    assert (chat["files"]["copied"], chat["files"]["left"]) == (4, 3)
    copied = {path.name for path in (tmp_path / "agents").rglob("*")}
    assert copied.isdisjoint({"link", "linked", "pipe", "key"})


def test_file_here_is_not_replaced(tmp_path: Path) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2")
    here = tmp_path / "agents/groups/family"
    here.mkdir(parents=True)
    (here / "CLAUDE.md").write_text("Mine.\n")
    (chat,) = run_import(tmp_path)["chats"]
    assert (chat["files"]["copied"], chat["files"]["known"]) == (3, 1)
    assert (here / "CLAUDE.md").read_text() == "Mine.\n"


def test_lists_of_senders_and_mounts_are_copied_once(tmp_path: Path) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2")
    lists = tmp_path / ".config" / "nanoclaw"
    lists.mkdir(parents=True)
    rule = {"allow": ["ada"], "mode": "drop"}
    (lists / "sender-allowlist.json").write_text(json.dumps({"default": {"allow": "*"}, "chats": {JID: rule}}))
    (lists / "mount-allowlist.json").write_text('{"allowedRoots": ["x", "x"], "allowedRoots": []}')
    notes = [each["note"] for each in run_import(tmp_path)["notes"]]
    senders = json.loads((tmp_path / "agents/sender-allowlist.json").read_text())
    assert senders["chats"] == {"telegram:-100": rule}
    assert any("sender-allowlist.json is copied" in each for each in notes)
    assert any("mount-allowlist.json cannot be used" in each for each in notes)
    assert any("exists already" in each["note"] for each in run_import(tmp_path)["notes"])


def test_what_cannot_be_taken_is_said_line_by_line(tmp_path: Path) -> None:
    config = {
        "timeout": 1,
        "memory": "4g",
        "additionalMounts": [{"hostPath": "/srv/a", "readonly": False}, {"hostPath": "b"}, {"hostPath": "/srv/x/a"}],
    }
    groups = [
        {**GROUP_ROW, "container_config": json.dumps(config)},
        {**GROUP_ROW, "jid": "1203@g.us", "folder": "work", "is_main": 1},
        {**GROUP_ROW, "jid": "1204@g.us", "folder": "../etc"},
    ]
    make_installation(tmp_path / "nanoclaw", "1.2", groups=groups)
    answer = run_import(tmp_path)
    assert [each["source"] for each in answer["unclear"]] == ["group 1204@g.us"]
    family = [each["note"] for each in answer["notes"] if each["source"] == "group family"]
    assert len(family) == 4
    assert any("horae group set work --chat" in each["note"] for each in answer["notes"])
    cli = cli_for(tmp_path)
    assert cli("group", "show", "family", "--json").json["mounts"] == [
        {"path": "/srv/a", "name": "a", "writable": True}
    ]
    assert cli("group", "show", "work", "--json").json["main"] is True


def test_chat_with_messages_of_its_own_gets_none(tmp_path: Path) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2")
    cli = cli_for(tmp_path)
    cli("group", "add", "family", "telegram:-100")
    cli("messages", "send", STREAM, "here", *OWNER)
    answer = run_import(tmp_path)
    assert answer["chats"][0]["messages"] == 0
    assert any("messages of its own" in each["note"] for each in answer["notes"])


def test_interrupted_import_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is appended once, and the group starts when the import is complete."""
    make_installation(tmp_path / "nanoclaw", "1.2")
    monkeypatch.setattr("horae.cli.transfer.import_groups.APPEND_MESSAGES", 3)
    registered = Streams.register
    monkeypatch.setattr(Streams, "register", None)
    with pytest.raises(TypeError):
        run_import(tmp_path)
    cli = cli_for(tmp_path)
    assert cli("group", "show", "family", "--json").json["stopped"] is True
    monkeypatch.setattr(Streams, "register", registered)
    assert run_import(tmp_path)["chats"][0]["messages"] == 4
    state = cli("messages", "show", STREAM, *OWNER, "--json").json
    assert (state["stored"], state["cursors"][0]["number"]) == (4, 2)
    assert waiting(cli) == ["lunch?", "@Andy when is lunch?"]
    assert cli("group", "show", "family", "--json").json["stopped"] is False


@pytest.mark.parametrize(("handled", "turns"), [(2, 1), (4, 0), (None, 1)])
async def test_host_goes_on_with_the_first_message_that_waits(tmp_path: Path, handled: int | None, turns: int) -> None:
    make_installation(tmp_path / "nanoclaw", "1.2", handled=handled)
    await asyncio.to_thread(run_import, tmp_path)
    async with open_host(f"sqlite:///{cli_for(tmp_path).path}") as host:
        group = await host.service.groups.get(LOCAL, "family")
        await host.look()
        facts = await host.turn_task(group)
        assert (facts is not None) == (turns == 1)
        assert await host.handled(group) == (handled or 2)
        record = await host.store.get_record(SESSION_KIND, "family")
        assert session_from("family", group.owner, record).id == SESSION


def test_directory_without_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nanoclaw").mkdir()
    refused = cli_for(tmp_path)("import", str(tmp_path / "nanoclaw"), "--json", HOME=str(tmp_path))
    assert refused.problem["code"] == "no_installation"


def test_exported_groups_are_imported_again(tmp_path: Path) -> None:
    cli = cli_for(tmp_path)
    words = ("--main", "--mount", "/srv/a:a:rw", "--zone", "UTC", "--timeout", "5m")
    made = cli("group", "add", "family", "web:1", *words, "--json").json
    cli("group", "stop", "family")
    file = tmp_path / "all.jsonl"
    cli("export", "--out", str(file))
    other = tmp_path / "other"
    other.mkdir()
    there = Cli(other)
    assert there("import", str(file), "--json").json["groups"] == 1
    found = there("group", "show", "family", "--json").json
    differs = {name for name in made if made[name] != found[name]}
    assert differs <= {"stopped", "created", "version", "warnings"}
    assert found["stopped"] is True
    file.write_text(file.read_text().replace('"web:1"', '"nowhere"'))
    assert Cli(tmp_path / "here")("import", str(file), "--json").problem["code"] == "bad_group_in_export"


@pytest.mark.parametrize(
    ("jid", "channel", "address"),
    [
        ("tg:-100", None, "telegram:-100"),
        ("491701234567@s.whatsapp.net", "whatsapp", "whatsapp:491701234567"),
        ("1203@g.us", "whatsapp", "whatsapp:1203@g.us"),
        ("slack:C1", None, "slack:C1"),
        ("dc:17", None, "discord:17"),
        ("room", "xmpp", "xmpp:room"),
        ("room", None, "nanoclaw:room"),
        ("room", "not a channel", "nanoclaw:room"),
    ],
)
def test_address_of_a_chat(jid: str, channel: str | None, address: str) -> None:
    assert chat_address(jid, channel) == address
