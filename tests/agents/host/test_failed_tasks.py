"""Notices of failed prompts: the chat is told that a scheduled task did not work, once, also after a crash of the host."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Failed, Succeeded
from tests.agents.host.host_harness import HostHarness, open_host


async def fail_once(host: HostHarness) -> None:
    """Let the next attempt fail."""
    (run,) = await host.claim()
    await host.end(run, Failed("no quota"))


async def fail_occurrence(host: HostHarness) -> None:
    """Let the occurrence that is due fail with all its attempts."""
    await fail_once(host)
    for _ in range(3):
        host.advance(timedelta(hours=1))
        await fail_once(host)


async def notices(host: HostHarness) -> list[str]:
    return [each.text for each in await host.deliveries()]


async def test_the_chat_is_told_when_every_attempt_of_a_task_has_failed() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "morning")
        await host.look()
        host.advance(timedelta(hours=21))
        await fail_once(host)
        await host.look()
        assert await notices(host) == [], "it is tried again"
        for _ in range(3):
            host.advance(timedelta(hours=1))
            await fail_once(host)
        await host.look()
        await host.look()

        told = "The task 'morning' has failed: no quota. For more, write: @Andy /why morning"
        assert await notices(host) == [told]
        assert await host.texts(group) == [f"< {told}"]
        assert await host.turns() == [], "the notice wakes no agent"


async def test_the_chat_is_told_again_about_the_next_day_and_not_about_each_hour() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.service.accounts.put(LOCAL, group.owner, language="zh")
        await host.add_task(group, "news", "every 2h")
        await host.look()
        for before, told in ((0, 1), (1, 1), (1, 2)):
            host.advance(timedelta(hours=6))
            await fail_once(host)
            await host.look()
            assert len(await notices(host)) == before, "a retry waits"
            while True:
                host.advance(timedelta(minutes=10))
                runs = await host.claim()
                if not runs:
                    break
                await host.end(runs[0], Failed("no quota"))
            await host.look()
            assert len(await notices(host)) == told
        assert "失败了" in (await notices(host))[0]


async def test_a_host_that_starts_tells_what_failed_while_none_was_there() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "morning")
        host.advance(timedelta(hours=21))
        await fail_occurrence(host)
        for _ in range(2):
            host.restart()
            await host.look()

        assert len(await notices(host)) == 1


async def test_a_one_time_task_that_failed_is_reported() -> None:
    async with open_host() as host:
        group = await host.add_group("main", is_main=True)
        await host.look()
        await host.add_task(group, "reminder", "in 1h")
        host.advance(timedelta(hours=1))
        await fail_occurrence(host)
        await host.look()

        assert await notices(host) == ["The task 'reminder' has failed: no quota. For more, write: /why reminder"]


async def test_a_task_that_succeeds_with_a_retry_is_not_reported() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.look()
        await host.add_task(group, "morning")
        host.advance(timedelta(hours=21))
        await fail_once(host)
        host.advance(timedelta(hours=1))
        (run,) = await host.claim()
        await host.end(run, Succeeded())
        await host.look()

        assert await notices(host) == []


async def test_a_notice_that_cannot_be_kept_does_not_hold_up_the_messages() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "morning")
        await host.look()
        host.advance(timedelta(hours=21))
        await fail_occurrence(host)
        await host.service.accounts.put(LOCAL, group.owner, quotas={"stream_messages": 1})
        await host.say("@Andy hello")
        await host.look()

        assert await notices(host) == []
        assert len(await host.turns()) == 1
