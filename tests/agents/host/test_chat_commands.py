"""Commands of chats: executed without an agent, as the group, once each, with an answer and an undo."""

from __future__ import annotations

import pytest

from horae.agents.host.chat_commander import ChatCommander
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.model.task import TaskState
from horae.ports.store import RunFilter, TaskFilter
from horae.schedule import After, Link
from tests.agents.host.host_harness import HostHarness, open_host


async def ask(host: HostHarness, text: str, chat: str = "1", **fields: object) -> str:
    """Send a command and return its answer."""
    before = {each.id for each in await host.deliveries()}
    await host.say(text, chat, **fields)
    host.clock.advance(1)
    await host.look()
    (answer,) = [each.text for each in await host.deliveries() if each.id not in before]
    return answer


async def state_of(host: HostHarness, name: str, group: Group) -> TaskState:
    page = await host.store.tasks(TaskFilter(group.owner, name=name), limit=10)
    return page.items[-1].status.state


async def test_tasks_lists_the_tasks_of_the_group_only() -> None:
    async with open_host() as host:
        family, other = await host.add_group(zone="Asia/Shanghai"), await host.add_group("other", "2")
        await host.add_task(family, "weather")
        await host.add_task(other, "secret of others")

        answer = await ask(host, "@Andy /tasks")

        assert answer == (
            "Tasks (1), times in Asia/Shanghai:\n1. weather: every day at 09:00, UTC; next 2026-03-02 09:00 (UTC)"
        )
        assert await host.texts(family) == ["@Andy /tasks", f"< {answer}"]


async def test_main_sees_and_changes_the_tasks_of_all_groups() -> None:
    async with open_host() as host:
        main, family = await host.add_group("main", "9", is_main=True), await host.add_group()
        await host.add_task(main, "own")
        await host.add_task(family, "weather")

        assert "2. [family] weather: every day at 09:00" in await ask(host, "/tasks", "9")
        assert (
            await ask(host, "/pause weather", "9") == "Paused 'weather' (every day at 09:00, UTC). /undo takes it back."
        )
        assert await state_of(host, "weather", family) is TaskState.PAUSED


async def test_a_group_cannot_touch_the_tasks_of_another() -> None:
    async with open_host() as host:
        await host.add_group()
        other = await host.add_group("other", "2")
        task = await host.add_task(other, "weather")

        assert "/tasks lists them" in await ask(host, "@Andy /cancel weather")
        assert "/tasks lists them" in await ask(host, f"@Andy /cancel {task.id}")
        assert await state_of(host, "weather", other) is TaskState.ACTIVE


async def test_pause_resume_and_their_undo(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.add_task(group, "weather")

        assert (
            await ask(host, "@Andy /pause weather")
            == "Paused 'weather' (every day at 09:00, UTC). /undo takes it back."
        )
        assert await ask(host, "@Andy /pause weather") == "'weather' is paused already."
        assert (
            await ask(host, "@Andy /undo")
            == "Undone: 'weather' goes on: every day at 09:00, UTC; next 2026-03-02 09:00 (UTC)."
        )
        assert await state_of(host, "weather", group) is TaskState.ACTIVE
        assert await ask(host, "@Andy /undo") == "There is nothing to undo."
        await ask(host, "@Andy /pause weather")
        assert await ask(host, "@Andy /resume weather") == (
            "Resumed 'weather': every day at 09:00, UTC; next 2026-03-02 09:00 (UTC). /undo takes it back."
        )
        assert await ask(host, "@Andy /undo") == "Undone: 'weather' is paused again (every day at 09:00, UTC)."
        assert await state_of(host, "weather", group) is TaskState.PAUSED


async def test_undo_of_a_cancel_brings_the_same_task_back(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        task = await host.add_task(group, "weather", agent="family", via="agent")

        assert (
            await ask(host, "@Andy /cancel weather")
            == "Cancelled 'weather' (every day at 09:00, UTC). /undo brings it back."
        )
        assert await state_of(host, "weather", group) is TaskState.CANCELLED
        assert (
            await ask(host, "@Andy /undo")
            == "Undone: 'weather' is there again: every day at 09:00, UTC; next 2026-03-02 09:00 (UTC)."
        )
        page = await host.store.tasks(TaskFilter(group.owner, name="weather"), limit=10)
        assert [(each.task, each.status.state) for each in page.items] == [(task, TaskState.ACTIVE)]
        assert [entry.due.hour for entry in page.items[0].entries] == [9]
        assert await ask(host, "@Andy /undo") == "There is nothing to undo."


async def test_undo_of_the_cancel_of_a_paused_task_pauses_it() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "weather")
        await ask(host, "@Andy /pause weather")
        await ask(host, "@Andy /cancel weather")

        assert await ask(host, "@Andy /undo") == "Undone: 'weather' is there again: every day at 09:00, UTC; paused."
        assert await state_of(host, "weather", group) is TaskState.PAUSED


async def test_occurrences_of_the_time_without_the_task_do_not_fire_after_the_undo(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        task = await host.add_task(group, "weather")
        await ask(host, "@Andy /cancel weather")
        host.clock.advance(2 * 86_400)

        assert (
            await ask(host, "@Andy /undo")
            == "Undone: 'weather' is there again: every day at 09:00, UTC; next 2026-03-04 09:00 (UTC)."
        )
        runs = (await host.store.runs(RunFilter(group.owner, task.id), limit=10)).items
        assert [(run.state, run.reason, run.span and run.span.count) for run in runs] == [("skipped", "cancelled", 2)]


async def test_receipt_of_a_final_cancel_says_so_and_undo_takes_back_nothing_else() -> None:
    async with open_host() as host:
        group = await host.add_group()
        weather = await host.add_task(group, "weather")
        await host.add_task(group, "report", when=After((Link(weather.id),)))
        assert "report: after weather; " in await ask(host, "@Andy /tasks")
        await ask(host, "@Andy /pause weather")

        assert (
            await ask(host, "@Andy /cancel report")
            == "Cancelled 'report' (after weather) for good; this cannot be undone."
        )
        assert await ask(host, "@Andy /undo") == ("The last change cannot be undone: 'report' was cancelled for good.")
        assert await state_of(host, "weather", group) is TaskState.PAUSED


async def test_undo_of_the_cancel_of_a_task_without_further_occurrences_says_why_not() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "alarm", when="in 1h")
        await ask(host, "@Andy /cancel alarm")
        host.clock.advance(7_200)

        assert "its last occurrence passed" in await ask(host, "@Andy /undo")
        assert await state_of(host, "alarm", group) is TaskState.CANCELLED


async def test_undo_leaves_a_task_alone_that_was_changed_since() -> None:
    async with open_host() as host:
        group = await host.add_group()
        task = await host.add_task(group, "weather")
        await ask(host, "@Andy /pause weather")
        await host.service.tasks.resume(LOCAL, task.id)

        assert "changed" in await ask(host, "@Andy /undo")
        assert await state_of(host, "weather", group) is TaskState.ACTIVE


async def test_why_and_help() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "weather")

        assert (await ask(host, "@Andy /why")).startswith("'weather', 2026-03-0")
        assert "/pause NAME pauses a task" in await ask(host, "@Andy /help")
        assert "if it begins with @Andy" in await ask(host, "@Andy /help")


async def test_a_command_that_names_no_task_offers_numbers() -> None:
    async with open_host() as host:
        group = await host.add_group(zone="UTC")
        assert await ask(host, "@Andy /pause") == "There are no tasks."
        for name in ("weather", "news"):
            await host.add_task(group, name)

        head, *rows = (await ask(host, "@Andy /pause")).splitlines()
        assert head == "Which task? Answer with its number, such as: /pause 1"
        names = [row.partition(". ")[2].partition(":")[0] for row in rows]
        assert sorted(names) == ["news", "weather"]
        assert (await ask(host, "@Andy /取消")).startswith("哪个任务？请用编号回答，例如：/取消 1\n1. ")
        assert (await ask(host, "@Andy /pause 2")).startswith(f"Paused '{names[1]}' (")


async def test_an_ambiguous_name_offers_numbers_that_work_after_a_crash() -> None:
    async with open_host() as host:
        group = await host.add_group(zone="UTC")
        for name in ("weather report", "news", "weather warning"):
            await host.add_task(group, name)

        head, *rows = (await ask(host, "@Andy /cancel weather")).splitlines()
        assert head == "Which task? Answer with its number, such as: /cancel 1"
        names = [row.partition(". ")[2].partition(":")[0] for row in rows]
        assert sorted(names) == ["weather report", "weather warning"]
        assert await ask(host, "@Andy /why weather") == "\n".join([head.replace("cancel", "why"), *rows])
        host.restart()
        assert (await ask(host, "@Andy /cancel 2")).startswith(f"Cancelled '{names[1]}' (")
        assert await state_of(host, names[0], group) is TaskState.ACTIVE


async def test_chinese_commands_have_chinese_answers() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "天气")

        assert (await ask(host, "@Andy /任务")).startswith("1 个任务，时区 Europe/Berlin：\n1. 天气：")
        assert await ask(host, "@Andy /暂停 天气") == "已暂停“天气”（每天 09:00，UTC）。/撤销 可以撤回。"
        assert (await ask(host, "@Andy /撤销")).startswith("已撤销：“天气”继续运行")


async def test_a_command_never_wakes_the_agent() -> None:
    async with open_host() as host:
        group = await host.add_group("main", is_main=True)
        await ask(host, "/tasks")

        assert await host.turn_task(group) is None


async def test_a_command_in_a_group_needs_the_trigger_and_in_a_direct_chat_it_does_not() -> None:
    async with open_host() as host:
        await host.add_group()
        await host.say("/tasks")
        await host.look()
        assert await host.deliveries() == []

        assert await ask(host, "/tasks", is_direct=True) == "There are no tasks."
        assert await ask(host, "/tasks@andy_bot") == "There are no tasks."


async def test_a_repeated_report_of_a_command_is_executed_once(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.add_task(group, "weather")
        message = await host.say("@Andy /pause weather")
        await host.look()
        await host.intake.on_message(message)
        await host.look()

        assert len(await host.deliveries()) == 1


@pytest.mark.parametrize("verb", ["pause", "cancel", "tasks"])
@pytest.mark.parametrize("step", ["before", "answer", "position"])
async def test_a_command_is_executed_and_answered_once_although_the_host_crashes(
    step: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "weather")
        await host.look()
        await host.say(f"@Andy /{verb} weather")

        class CrashError(Exception):
            pass

        async def crash(*_arguments: object, **_named: object) -> None:
            raise CrashError

        changes: list[str] = []
        writer = host.service.audit.row

        def count(*arguments: object, **named: object) -> object:
            changes.append(str(arguments[1]))
            return writer(*arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(host.service.audit, "row", count)
        execute = ChatCommander.execute

        async def crash_after(self: ChatCommander, *arguments: object) -> None:
            await execute(self, *arguments)  # type: ignore[arg-type]
            raise CrashError

        with monkeypatch.context() as patched:
            if step == "before":
                patched.setattr(ChatCommander, "_act", crash)
            elif step == "answer":
                patched.setattr(host.outbox, "send", crash)
            else:
                patched.setattr(ChatCommander, "execute", crash_after)
            with pytest.raises(CrashError):
                await host.look()
        host.restart()
        await host.look()
        await host.look()

        assert len(await host.deliveries()) == 1
        assert len([text for text in await host.texts(group) if text.startswith("< ")]) == 1
        assert changes == ([] if verb == "tasks" else [f"task.{verb}"])


async def test_a_command_is_not_lost_when_a_turn_handles_the_messages_before_the_router(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        await host.add_task(group, "weather")
        await host.say("@Andy hello")
        await host.look()
        (run,) = await host.turns()
        await host.say("@Andy /pause weather")
        await host.answer(run, group)
        host.restart()
        await host.look()

        assert await state_of(host, "weather", group) is TaskState.PAUSED


async def test_numbers_of_the_last_list_name_its_tasks(store_url: str) -> None:
    async with open_host(store_url) as host:
        group = await host.add_group()
        for name in ("weather", "news", "report 1"):
            await host.add_task(group, name)

        assert "'2'" in await ask(host, "@Andy /pause 2"), "no list yet"
        shown = (await ask(host, "@Andy /tasks")).splitlines()
        names = [line.partition(". ")[2].partition(":")[0] for line in shown[1:]]
        assert sorted(names) == ["news", "report 1", "weather"]
        await host.add_task(group, "alarm")
        assert (
            await ask(host, "@Andy /pause 2") == f"Paused '{names[1]}' (every day at 09:00, UTC). /undo takes it back."
        )
        assert await ask(host, "@Andy /resume #2") == (
            f"Resumed '{names[1]}': every day at 09:00, UTC; next 2026-03-02 09:00 (UTC). /undo takes it back."
        )
        assert (await ask(host, "@Andy /why 1.")).startswith(f"'{names[0]}', ")
        assert (await ask(host, "@Andy /cancel 1")).startswith(f"Cancelled '{names[0]}' (")
        host.restart()
        assert await ask(host, "@Andy /取消 ３") == f"已取消“{names[2]}”（每天 09:00，UTC）。/撤销 可以恢复它。"
        assert "'4'" in await ask(host, "@Andy /pause 4"), "the list had three"


async def test_a_task_with_a_number_as_its_name_goes_before_the_list() -> None:
    async with open_host() as host:
        group = await host.add_group()
        await host.add_task(group, "2")
        await host.add_task(group, "weather")
        await ask(host, "@Andy /tasks")

        assert await ask(host, "@Andy /pause 2") == "Paused '2' (every day at 09:00, UTC). /undo takes it back."


async def test_numbers_of_other_groups_are_of_no_use_to_a_former_main_group() -> None:
    async with open_host() as host:
        main, family = await host.add_group("main", "9", is_main=True), await host.add_group()
        await host.add_task(main, "own")
        await host.add_task(family, "weather")
        await ask(host, "/tasks", "9")
        await host.service.groups.change(LOCAL, "main", is_main=False, requires_trigger=False)
        host.router.refresh()

        assert "/tasks lists them" in await ask(host, "/pause 2", "9")
        assert await state_of(host, "weather", family) is TaskState.ACTIVE
