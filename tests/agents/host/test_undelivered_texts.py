"""Texts that could not be sent: the chat is told of all of them at once, when it can be reached again."""

from __future__ import annotations

from datetime import timedelta

from horae.agents.channels.refusals import refuse
from horae.agents.delivery.sender import DeliverySender
from horae.model.accounts.principal import LOCAL
from horae.model.agents.delivery import PENDING_KIND, SEND_WINDOW
from horae.model.agents.group import Group
from horae.ports.channel import DeliveryRefused
from tests.agents.delivery.scripted_channel import ScriptedChannel, busy
from tests.agents.host.host_harness import HostHarness, open_host

GONE = DeliveryRefused(refuse("channel_forbidden", service="Test", problem="kicked"))


class Sending:
    """A sender of the texts of a host, to a channel whose answers a test decides."""

    def __init__(self, host: HostHarness, group: Group) -> None:
        self.host = host
        self.group = group
        self.channel = ScriptedChannel(most=200)
        self._sender = DeliverySender(host.store, {"test": self.channel}, host.clock, lambda: {"test"})
        self._number = 0

    async def say(self, *texts: str) -> None:
        """Write texts for the chat and try to send them."""
        for text in texts:
            self._number += 1
            await self.host.outbox.send(self.group, text, f"said {self._number}", "run_1")
        await self.send()

    async def send(self) -> None:
        """Send what is due, and let the router look at what has happened; both twice, because the router writes, too."""
        for _ in range(2):
            self.host.advance(timedelta(seconds=1))
            await self._sender.step()
            await self._sender.wait_idle()
            await self.host.look()

    async def expire(self) -> None:
        """Let the time of everything that waits be over."""
        self.host.advance(SEND_WINDOW)
        await self.send()
        assert not (await self.host.store.records(PENDING_KIND)).items

    @property
    def sent(self) -> list[str]:
        return self.channel.texts("1")


async def test_lost_texts_are_told_together_with_the_next_text_that_arrives() -> None:
    async with open_host() as host:
        sending = Sending(host, await host.add_group())
        await host.look()
        sending.channel.answers["1"] = [GONE, GONE]
        await sending.say("one", "two")
        assert sending.sent == []
        host.advance(timedelta(hours=3))
        await sending.say("three")
        notice = "2 messages could not be sent to this chat (since 2026-03-01 13:00)."
        assert sending.sent == ["three", notice]
        host.restart()
        await sending.say("four")
        assert sending.sent == ["three", notice, "four"], "once"
        assert await host.turns() == [], "the notice wakes no agent"


async def test_lost_texts_are_told_when_the_channel_is_connected_again() -> None:
    async with open_host() as host:
        group = await host.add_group(zone="Asia/Shanghai")
        await host.service.accounts.put(LOCAL, group.owner, language="zh")
        sending = Sending(host, group)
        host.states.report("test", is_connected=False, problem="no network")
        await host.states.finish()
        await host.look()
        sending.channel.answers["1"] = [busy(), *[busy() for _ in range(4)]]
        await sending.say("one")
        await sending.expire()
        await sending.send()
        assert sending.sent == [], "the channel is still away"
        host.states.report("test", is_connected=True)
        await host.states.finish()
        sending.channel.answers["1"].clear()
        await sending.send()
        assert sending.sent == ["有 1 条消息未能发送到此聊天（自 2026-03-01 20:00 起）。"]


async def test_a_host_that_starts_tells_what_was_lost_while_none_was_there() -> None:
    async with open_host() as host:
        sending = Sending(host, await host.add_group())
        await host.look()
        sending.channel.answers["1"] = [GONE]
        await sending.say("one")
        host.restart()
        await sending.say("two")
        assert sending.sent == ["two", "1 message could not be sent to this chat (since 2026-03-01 13:00)."]


async def test_a_notice_that_is_lost_too_counts_as_the_texts_that_it_stands_for() -> None:
    async with open_host() as host:
        sending = Sending(host, await host.add_group())
        await host.look()
        sending.channel.answers["1"] = [GONE, GONE, None, GONE]
        await sending.say("one", "two", "three")
        assert sending.sent == ["three"]
        await sending.say("four")
        assert sending.sent == [
            "three",
            "four",
            "2 messages could not be sent to this chat (since 2026-03-01 13:00).",
        ]


async def test_another_chat_that_takes_texts_says_nothing_about_this_one() -> None:
    async with open_host() as host:
        sending = Sending(host, await host.add_group())
        other = Sending(host, await host.add_group("other", "2"))
        await host.look()
        sending.channel.answers["1"] = [GONE]
        await sending.say("one")
        sending.group = other.group
        await sending.say("hello")
        assert sending.channel.arrived == [("2", "hello")]
