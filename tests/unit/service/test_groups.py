"""Groups: registration, uniqueness of folder and chat, their owners."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import Refusal
from horae.model.accounts.principal import Principal
from horae.model.refusals import refuse
from horae.ports.chat_messages import ASSISTANT_SOURCE
from horae.service.groups.groups import Groups, GroupStatus
from horae.service.messages.streams import MessageDraft
from horae.service.tasks.task_request import TaskRequest

from .service_harness import CHIEF, ROOT, TARGET, ServiceHarness, open_harness


async def code_of_add(harness: ServiceHarness, folder: str, chat: str) -> str:
    with pytest.raises(Refusal) as refused:
        await harness.service.groups.add(ROOT, folder, chat)
    return refused.value.code


async def test_group_is_an_owner_with_its_zone() -> None:
    async with open_harness() as harness:
        group = await harness.service.groups.add(
            CHIEF, "family", "telegram:-100", name="Family", zone="Asia/Shanghai", timeout=timedelta(minutes=5)
        )
        assert await harness.service.groups.get(ROOT, "family") == group
        assert group.limits.timeout == timedelta(minutes=5)
        owner = await harness.service.accounts.get(ROOT, "group:family")
        assert owner.zone == "Asia/Shanghai"
        assert await harness.service.groups.find_by_chat("telegram:-100") == group
        assert await harness.service.groups.find_by_chat("telegram:-1") is None
        assert await harness.service.groups.find("..") is None
        actions = [row.action for row in (await harness.service.audit.page(ROOT)).items]
        assert "group.add" in actions


async def test_folder_and_chat_belong_to_one_group() -> None:
    async with open_harness() as harness:
        await harness.service.groups.add(ROOT, "family", "web:1")
        assert await code_of_add(harness, "family", "web:2") == "group_exists"
        assert await code_of_add(harness, "work", "web:1") == "chat_taken"
        assert await code_of_add(harness, "../etc", "web:3") == "bad_folder"
        assert await code_of_add(harness, "work", "nowhere") == "bad_chat_address"
        work = await harness.service.groups.add(ROOT, "work", "web:2")
        with pytest.raises(Refusal) as refused:
            await harness.service.groups.change(ROOT, "work", chat="web:1")
        assert refused.value.code == "chat_taken"
        assert await harness.service.groups.get(ROOT, "work") == work


async def test_changed_chat_frees_the_former_one() -> None:
    async with open_harness() as harness:
        groups = harness.service.groups
        await groups.add(ROOT, "family", "web:1", zone="UTC", node="north")
        changed = await groups.change(
            ROOT, "family", chat="web:2", zone="", node="", memory_megabytes=64, mounts=[("/srv", "files", False)]
        )
        assert (changed.zone, changed.node, changed.limits.memory_megabytes) == (None, None, 64)
        assert changed.mounts[0].name == "files"
        assert await groups.get(ROOT, "family") == changed
        assert await groups.find_by_chat("web:1") is None
        assert await groups.change(ROOT, "family", chat="web:2") == changed
        assert (await groups.add(ROOT, "work", "web:1")).folder == "work"
        assert (await harness.service.accounts.get(ROOT, "group:family")).zone is None


async def test_removed_group_starts_nothing_and_can_come_back() -> None:
    async with open_harness() as harness:
        groups = harness.service.groups
        await groups.add(ROOT, "family", "web:1")
        await groups.remove(ROOT, "family")
        assert await groups.find("family") is None
        assert (await harness.service.accounts.get(ROOT, "group:family")).revoked is not None
        await groups.add(ROOT, "family", "web:1")
        assert (await harness.service.accounts.get(ROOT, "group:family")).revoked is None


async def test_agent_cannot_change_groups() -> None:
    async with open_harness() as harness:
        await harness.service.groups.add(ROOT, "family", "web:1")
        agent = Principal("group:family", admin=True, agent="andy")
        with pytest.raises(Refusal) as refused:
            await harness.service.groups.change(agent, "family", is_main=True)
        assert refused.value.code == "not_for_agents"


async def test_version_that_changed_is_refused() -> None:
    async with open_harness() as harness:
        groups = harness.service.groups
        group = await groups.add(ROOT, "family", "web:1")
        changed = await groups.change(ROOT, "family", group.version, name="Family")
        with pytest.raises(Refusal) as refused:
            await groups.change(ROOT, "family", group.version, name="Other")
        assert refused.value.code == "stale_group"
        assert await groups.get(ROOT, "family") == changed


async def test_status_has_messages_after_the_handled_one_and_runs() -> None:
    async with open_harness() as harness:
        service = harness.service
        group = await service.groups.add(ROOT, "family", "web:1")
        assert await service.groups.status(ROOT, "family") == GroupStatus(group)
        drafts = [MessageDraft(text) for text in "abc"]
        await service.streams.send(ROOT, group.stream, drafts, group.owner)
        assert (await service.groups.status(ROOT, "family")).waiting == 3
        await service.streams.register(ROOT, group.stream, "handled", group.owner, after=1)
        await service.system_tasks.create(
            group.owner, TaskRequest("turn", "now", TARGET, lane=group.owner, granted_lanes=(group.owner,))
        )
        (run,) = await harness.claim()
        status = await service.groups.status(ROOT, "family")
        assert (status.messages, status.waiting) == (3, 2)
        assert status.live is not None
        assert status.live.id == run.id
        await harness.settle(run)
        status = await service.groups.status(ROOT, "family")
        assert status.live is None
        assert status.last_turn is not None
        assert status.last_turn.id == run.id


async def test_answers_of_the_assistant_do_not_wait() -> None:
    async with open_harness() as harness:
        service = harness.service
        group = await service.groups.add(ROOT, "family", "web:1")
        drafts = [MessageDraft("hello"), MessageDraft("yes?", source=ASSISTANT_SOURCE, id="1")]
        await service.streams.send(ROOT, group.stream, drafts, group.owner)
        status = await service.groups.status(ROOT, "family")
        assert (status.messages, status.waiting) == (2, 1)


async def test_mounts_that_are_not_permitted_are_warnings() -> None:
    async with open_harness() as harness:
        service = harness.service
        groups = Groups(
            service.store, service.accounts, service.audit, harness.clock, lambda _group: [refuse("mount_name_twice")]
        )
        await groups.add(ROOT, "family", "web:1")
        (warning,) = (await groups.status(ROOT, "family")).warnings
        assert warning.code == "mount_name_twice"
        assert warning.in_language("en").startswith("Two mounts")
