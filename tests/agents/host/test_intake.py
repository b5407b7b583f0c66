"""Intake of channels: registered chats are kept, others only remembered; senders, edits and moved chats."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from horae.agents.router.prompt import PromptMessage, write_prompt
from horae.errors import StoreUnavailable
from horae.model.accounts.principal import LOCAL
from horae.model.agents.known_chat import KNOWN_CHAT_KIND, known_chat_from
from horae.ports.channel import MessageChange
from horae.ports.chat_messages import read_chat_message
from horae.wire.groups import registration_command
from tests.agents.host.host_harness import HostHarness, open_host


async def known_chats(host: HostHarness) -> list[tuple[str, str]]:
    page = await host.store.records(KNOWN_CHAT_KIND, None, None, 100)
    return [(each.chat, each.name) for each in map(known_chat_from, page.items)]


async def test_registered_chats_only() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.say("my secret plan", chat="2", chat_name="Strangers")

        assert await host.texts(group) == ["@Andy hello"]
        assert await known_chats(host) == [("test:2", "Strangers")]
        (unregistered,) = await host.service.groups.unregistered(LOCAL)
        assert registration_command(unregistered)[2:] == ("add", "strangers", "test:2", "--name", "Strangers")
        records = (await host.store.records(KNOWN_CHAT_KIND, None, None, 100)).items
        assert "secret" not in json.dumps([each.body for each in records])


@pytest.mark.parametrize("year", [1, 9999])
async def test_an_instant_that_cannot_be_true_is_replaced(year: int) -> None:
    # In XMPP the sender chooses it; the archive would be read from there, and the prompt has local times.
    async with open_host() as host:
        group = await host.add_group()
        now = host.clock.now()
        await host.say("@Andy hello", sent=datetime(year, 1, 1, tzinfo=UTC))

        page = await host.store.read_messages(group.owner, group.stream, 0, 1)
        assert page is not None
        (message,) = map(read_chat_message, page.messages)
        assert message.sent == now
        assert write_prompt([PromptMessage("Ada", "hello", message.sent)], "Pacific/Kiritimati")


async def test_known_chats_are_bounded_and_the_oldest_go() -> None:
    async with open_host() as host:
        for number in range(5):
            await host.say("hello", chat=str(number))
            host.clock.advance(60)

        assert [chat for chat, _ in await known_chats(host)] == ["test:2", "test:3", "test:4"]


async def test_a_chat_that_is_registered_later_is_received() -> None:
    async with open_host() as host:
        await host.say("one")
        group = await host.add_group()
        await host.say("two")

        assert await host.texts(group) == ["two"]


async def test_a_group_that_another_process_adds_is_found_within_two_seconds() -> None:
    async with open_host() as host:
        await host.say("one")
        group = await host.service.groups.add(LOCAL, "family", "test:1")
        host.clock.advance(2)
        await host.say("two")

        assert await host.texts(group) == ["two"]


async def test_messages_with_equal_timestamps_are_all_kept(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        for number in range(5):
            await host.say(f"@Andy {number}")

        assert await host.texts(group) == [f"@Andy {number}" for number in range(5)]


async def test_a_repeated_report_is_kept_once(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        message = await host.say("@Andy hello")
        await host.intake.on_message(message)

        assert await host.texts(group) == ["@Andy hello"]


async def test_edits_and_deletions_are_kept() -> None:
    async with open_host() as host:
        group = await host.add_group()
        message = await host.say("@Andy helo")
        edit = message._replace(text="@Andy hello", source_id="1:1:e", change=MessageChange.EDITED)
        await host.intake.on_message(edit)
        await host.intake.on_message(message._replace(text="", source_id="1:1:d", change=MessageChange.DELETED))

        assert await host.texts(group) == ["@Andy helo", "@Andy hello", ""]


async def test_a_store_that_does_not_answer_makes_the_channel_deliver_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_host() as host:
        await host.add_group()

        async def fail(*_arguments: object) -> None:
            raise StoreUnavailable("the disk is slow")

        monkeypatch.setattr(host.store, "append_messages", fail)
        with pytest.raises(StoreUnavailable):
            await host.say("@Andy hello")


async def test_a_message_that_can_never_be_kept_does_not_block_the_channel() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.service.accounts.put(LOCAL, group.owner, quotas={"stream_messages": 1})
        await host.say("one")
        await host.say("two")

        assert await host.texts(group) == ["one"]


async def test_senders_that_are_not_on_the_list_are_dropped_or_wake_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sender-allowlist.json"
    async with open_host(senders=file) as host:
        family, work = await host.add_group(), await host.add_group("work", "2")
        file.write_text(
            json.dumps({"chats": {"test:1": {"allow": ["ada"], "mode": "drop"}, "2": {"allow": ["ada"]}}}),
            encoding="utf-8",
        )
        await host.say("@Andy one", sender="eve")
        await host.say("@Andy two")
        await host.say("@Andy three", chat="2", sender="eve")
        await host.look()

        assert await host.texts(family) == ["@Andy two"]
        assert await host.texts(work) == ["@Andy three"]
        assert await host.turn_task(family) is not None
        assert await host.turn_task(work) is None


async def test_a_list_of_senders_with_a_defect_allows_no_sender_and_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "sender-allowlist.json"
    file.write_text('{"default": {"allow": "ada"}}', encoding="utf-8")
    async with open_host(senders=file) as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.say("@Andy hello")
        await host.look()

        assert len(await host.texts(group)) == 2
        assert await host.turn_task(group) is None
        assert "/default/allow" in host.sender_file.problem
        assert [each.levelname for each in caplog.records if each.name == "horae.agents"] == ["ERROR"]
        file.write_text('{"default": {"allow": ["ada"]}}', encoding="utf-8")
        await host.say("@Andy hello")
        assert host.sender_file.problem == ""


async def test_a_replaced_chat_keeps_its_group_and_the_waiting_messages(store_url: str) -> None:
    async with open_host(store_url) as host:
        await host.add_group()
        await host.say("@Andy hello")
        await host.say("@Andy again", chat="9", moved_from="1")

        group = await host.service.groups.find("family")
        assert group is not None
        assert group.chat == "test:9"
        assert await host.texts(group) == ["@Andy hello", "@Andy again"]
