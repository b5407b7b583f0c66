"""Router: which messages lead to a turn, when it is asked for again, and what a crash may not lose."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.agents.router.position import POSITION_KIND, position_from
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.model.outcome import Skipped, Succeeded
from horae.ports.channel import MessageChange
from tests.agents.host.host_harness import HostHarness, open_host


async def turns_of(host: HostHarness, *groups: Group) -> list[str]:
    """Start what is due, and return the folders of the groups, in order."""
    await host.look()
    owners = [run.owner for run in await host.turns()]
    return [group.folder for owner in owners for group in groups if owner.endswith(group.owner)]


async def test_a_message_with_the_trigger_asks_for_one_turn_of_the_system_task() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.look()

        facts = await host.turn_task(group)
        assert facts is not None
        policies = facts.task.policies
        assert facts.task.target == ("agent", '{"group": "family", "messages": true}')
        assert (facts.task.lanes, policies.priority) == (("group:family", "agents"), -10)
        assert [policies.retry.wait(tries, 0.5).total_seconds() for tries in range(1, 6)] == [5, 10, 20, 40, 80]
        assert policies.retry.attempts == 6
        assert len(await host.turns()) == 1
        host.advance(timedelta(days=365))
        assert await host.turns() == []


async def test_groups_other_than_main_need_the_trigger_word_and_main_never_does() -> None:
    async with open_host() as host:
        family = await host.add_group()
        main = await host.add_group("main", "2", is_main=True)
        await host.say("hello")
        await host.say("hello", chat="2")

        assert await turns_of(host, family, main) == ["main"]


async def test_untriggered_messages_are_kept_and_travel_along_with_the_trigger() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("one")
        await host.say("two")
        await host.look()
        assert await host.turn_task(group) is None
        await host.say("@Andy three")

        assert await turns_of(host, group) == ["family"]
        assert await host.handled(group) == 0


async def test_the_messages_of_the_assistant_wake_nothing() -> None:
    async with open_host() as host:
        group = await host.add_group("main", is_main=True)
        await host.outbox.send(group, "@Andy I am Andy", "x", "test")

        assert await turns_of(host, group) == []


async def test_no_second_turn_is_queued_while_one_waits_or_runs() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy one")
        await host.look()
        await host.say("@Andy two")
        await host.look()
        (run,) = await host.turns()
        await host.say("@Andy three")
        await host.look()
        assert await host.turns() == []
        assert host.piped == ["family", "family"]
        await host.answer(run, group)
        await host.look()

        assert await host.turns() == []


async def test_messages_that_a_turn_left_over_need_another(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy one")
        await host.say("@Andy two")
        await host.look()
        (run,) = await host.turns()
        await host.answer(run, group, up_to=1)
        host.clock.advance(1)

        assert await turns_of(host, group) == ["family"]


async def test_a_message_with_the_timestamp_of_a_handled_one_needs_another_turn() -> None:
    """The cursor is a number: a message of the same second as the last one that was handled is not lost."""
    async with open_host() as host:
        group = await host.add_group()
        first = await host.say("@Andy one")
        await host.look()
        (run,) = await host.turns()
        await host.answer(run, group)
        host.clock.advance(1)
        await host.say("@Andy two", sent=first.sent)
        await host.say("@Andy earlier", sent=first.sent - timedelta(seconds=9))
        assert await turns_of(host, group) == ["family"]

        assert await host.handled(group) == 1


async def test_a_turn_that_succeeds_without_handling_anything_is_not_repeated_for_ever() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy one")
        await host.look()
        host.clock.advance(1)
        (run,) = await host.turns()
        await host.end(run, Succeeded())
        host.clock.advance(1)
        assert await turns_of(host, group) == []
        await host.say("@Andy two")

        assert await turns_of(host, group) == ["family"]


async def test_a_skipped_turn_waits_for_the_next_message_and_the_chat_is_not_told() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy one")
        await host.look()
        host.clock.advance(1)
        (run,) = await host.turns()
        await host.end(run, Skipped("the budget is used up"))
        assert await turns_of(host, group) == []

        assert await host.deliveries() == []


async def test_each_group_has_a_handled_cursor_of_its_own(store_url: str) -> None:
    """The scenario of the seed: A is answered, B fails, C has no trigger; what B and C wait for stays."""
    async with open_host(store_url) as host:
        await host.service.lanes.limit(LOCAL, "agents", 5)
        a, b, c = [await host.add_group(name, name) for name in ("a", "b", "c")]
        for name in ("a", "b"):
            await host.say(f"@Andy {name}", chat=name)
        await host.say("no trigger", chat="c")
        await host.look()
        runs = {run.owner.rpartition(":")[2]: run for run in await host.turns()}
        assert sorted(runs) == ["a", "b"]
        await host.answer(runs["a"], a)
        await host.fail(runs["b"])
        await host.look()

        assert [await host.handled(group) for group in (a, b, c)] == [1, 0, 0]
        await host.say("@Andy c", chat="c")
        assert await turns_of(host, a, b, c) == ["c"]
        host.advance(timedelta(seconds=5))
        assert [run.owner for run in await host.turns()] == ["horae:group:b"]


async def test_failed_turns_are_retried_five_times_and_then_the_chat_is_told_once(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.look()
        await host.fail_for_good()
        await host.look()
        await host.look()

        (delivery,) = await host.deliveries()
        assert delivery.chat == "test:1"
        assert "every attempt has failed (the model did not answer)" in delivery.text
        assert await host.texts(group) == ["@Andy hello", f"< {delivery.text}"]
        assert await host.turns() == []


async def test_the_chat_is_told_in_the_language_of_the_owner() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.service.accounts.put(LOCAL, group.owner, language="zh")
        await host.say("@Andy 你好")
        await host.look()
        await host.fail_for_good()
        await host.look()

        (delivery,) = await host.deliveries()
        assert delivery.text.startswith("无法回答：所有尝试都失败了（the model did not answer）")


async def test_a_new_message_asks_again_after_a_failure_and_another_failure_is_told_again() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.look()
        await host.fail_for_good()
        await host.say("no trigger")
        assert await turns_of(host, group) == []
        await host.say("@Andy are you there?")
        await host.look()
        await host.fail_for_good()
        await host.look()

        assert len(await host.deliveries()) == 2


async def test_a_start_of_the_host_tries_again_what_was_given_up_and_tells_the_chat_no_second_time(
    store_url: str,
) -> None:
    async with open_host(store_url) as host:
        await host.add_group()
        await host.say("@Andy hello")
        await host.look()
        await host.fail_for_good()
        await host.look()
        host.restart()
        await host.look()
        await host.fail_for_good()
        await host.look()

        assert len(await host.deliveries()) == 1


async def test_what_was_not_handled_is_recovered_at_the_start(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        host.restart()

        assert await turns_of(host, group) == ["family"]


@pytest.mark.parametrize("step", ["declare", "ask", "commit"])
async def test_a_crash_between_two_steps_loses_no_message(
    step: str, monkeypatch: pytest.MonkeyPatch, store_url: str
) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy hello")

        class CrashError(Exception):
            pass

        async def crash(*_arguments: object, **_named: object) -> None:
            raise CrashError

        place: tuple[object, str] = {
            "commit": (host.store, "change"),
            "declare": (host.service.system_tasks, "declare"),
            "ask": (host.service.tasks, "run_now"),
        }[step]
        with monkeypatch.context() as patched:
            patched.setattr(*place, crash)
            with pytest.raises(CrashError):
                await host.look()
        host.restart()

        assert await turns_of(host, group) == ["family"]


async def test_the_seen_position_commits_with_the_turn_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, store_url: str
) -> None:
    """There is no instant at which a message counts as seen, and no turn was asked for; nor one after which a second is."""
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        seen: list[int] = []
        change = host.store.change

        async def watch(*arguments: Any) -> Any:
            assert await host.store.get_record(POSITION_KIND, group.folder) is None
            result = await change(*arguments)
            record = await host.store.get_record(POSITION_KIND, group.folder)
            assert record is not None
            seen.append(position_from(record).seen)
            return result

        monkeypatch.setattr(host.store, "change", watch)
        await host.look()

        assert seen == [1]


async def test_the_seen_position_of_another_process_stays() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("@Andy hello")
        await host.look()
        (run,) = await host.turns()
        await host.say("@Andy again")
        await host.answer(run, group)
        other = await host.store.get_record(POSITION_KIND, group.folder)
        assert other is not None
        load = host.store.get_record

        async def load_old(kind: str, key: str) -> Any:
            record = await load(kind, key)
            if kind == POSITION_KIND and record is not None:
                await host.store.put_record(record, replacing=record.version)
            return record

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(host.store, "get_record", load_old)
            with pytest.raises(Exception, match=group.folder):
                await host.look()
        assert len(await host.turns()) == 0


async def test_an_older_message_wakes_the_agent_after_a_newer_one_was_deleted(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.say("@Andy one")
        two = await host.say("@Andy two")
        await host.intake.on_message(two._replace(text="", source_id="d", change=MessageChange.DELETED))
        assert await turns_of(host, group) == ["family"]


async def test_a_deleted_message_alone_wakes_nothing() -> None:
    async with open_host() as host:
        group = await host.add_group(is_stopped=True)
        message = await host.say("@Andy hello")
        await host.look()
        await host.intake.on_message(message._replace(text="", source_id="d", change=MessageChange.DELETED))
        await host.service.groups.change(LOCAL, "family", is_stopped=False)
        host.router.refresh()

        assert await turns_of(host, group) == []


async def test_a_stopped_group_waits_and_goes_on_when_it_is_started() -> None:
    async with open_host() as host:
        group = await host.add_group(is_stopped=True)
        await host.say("@Andy hello")
        assert await turns_of(host, group) == []
        await host.service.groups.change(LOCAL, "family", is_stopped=False)
        host.router.refresh()

        assert await turns_of(host, group) == ["family"]


async def test_a_group_that_no_longer_needs_the_trigger_answers_what_waits() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.say("hello")
        assert await turns_of(host, group) == []
        await host.service.groups.change(LOCAL, "family", requires_trigger=False)
        host.advance(timedelta(seconds=10))

        assert await turns_of(host, group) == ["family"]


async def test_a_busy_group_does_not_starve_the_others() -> None:
    """50 groups with 20 messages in `bench/agents`; here ten groups with five messages, at most five turns at once."""
    async with open_host() as host:
        await host.service.lanes.limit(LOCAL, "agents", 5)
        # Not in the order of their names, in which the lane of agents serves owners.
        groups = {name: await host.add_group(name, name) for name in "jihgfedcba"}
        for number in range(5):
            for name in groups:
                await host.say(f"@Andy {number}", chat=name)
        served: list[str] = []
        await host.look()
        while runs := await host.turns():
            assert len(runs) <= 5
            for run in runs:
                folder = run.owner.rpartition(":")[2]
                served.append(folder)
                await host.answer(run, groups[folder], up_to=await host.handled(groups[folder]) + 1)
            host.clock.advance(1)
            await host.look()

        assert len(served) == 50
        assert [sorted(served[begin : begin + 10]) for begin in range(0, 50, 10)] == [sorted(groups)] * 5
        assert [await host.handled(group) for group in groups.values()] == [5] * 10


async def test_an_idle_poll_is_one_query_for_all_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_host(f"sqlite:///{tmp_path / 'horae.db'}") as host:
        for number in range(20):
            await host.add_group(f"g{number}", str(number))
        await host.look()
        await host.look()
        calls: list[str] = []
        for name in ("events", "records", "get_record", "stream", "read_messages", "find"):
            method = getattr(host.store, name)

            def watch(*arguments: object, name: str = name, method=method, **named: object) -> object:  # type: ignore[no-untyped-def]  # noqa: ANN001
                calls.append(name)
                return method(*arguments, **named)

            monkeypatch.setattr(host.store, name, watch)
        await host.look()

        assert calls == ["events"]


async def test_a_group_with_a_long_unhandled_history_is_not_read_again_for_each_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_host() as host:
        group = await host.add_group()
        for number in range(300):
            await host.say(f"{number}")
        await host.look()
        reads: list[object] = []
        read = host.store.read_messages

        async def watch(*arguments: object) -> object:
            reads.append(arguments[2])
            return await read(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(host.store, "read_messages", watch)
        await host.say("@Andy now")

        assert await turns_of(host, group) == ["family"]
        assert reads == [300]


async def test_a_group_whose_quota_is_used_up_delays_no_other_group() -> None:
    async with open_host() as host:
        full = await host.add_group()
        other = await host.add_group("other", "2")
        await host.service.accounts.put(LOCAL, full.owner, quotas={"stream_messages": 1})
        await host.say("@Andy /tasks")  # its answer has no room
        await host.say("@Andy hello", chat="2")

        assert await turns_of(host, full, other) == ["other"]
        await host.service.accounts.put(LOCAL, full.owner, quotas={"stream_messages": 5})
        host.router.note(full)
        await host.look()
        assert len(await host.texts(full)) == 2
