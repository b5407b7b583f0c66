"""Chats: lists, transcripts with deliveries and runs, messages of people in web chats, activity of the agent."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import SCOPES_OF, Principal, Role
from horae.model.agents.delivery import Delivery, add_delivery, as_sent, delivery_record
from horae.model.events.event import EventKind
from horae.model.record import RecordWrite
from horae.ports.chat_messages import assistant_message
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import NOON
from tests.unit.service.service_harness import ADA, ROOT, TARGET, ServiceHarness, code_of, open_harness

FAMILY = Principal("group:family")


async def answer(harness: ServiceHarness, text: str, number: int, source_id: str = "run_1/0") -> Delivery:
    """Write an answer of the assistant and its delivery, as the target does."""
    now = harness.clock.now()
    await harness.store.append_messages("group:family", [assistant_message("chat:web:1", text, "Andy", source_id, now)])
    delivery = Delivery(
        f"dlv_{number:012x}{'0' * 20}", "group:family", "web:1", text, now, "run_7", message_id=source_id
    )
    await harness.store.write_records([add_delivery(delivery)])
    return delivery


async def test_message_of_a_person_is_appended_once_by_its_id() -> None:
    async with open_harness() as harness:
        chats = harness.service.chats
        await harness.service.groups.add(ROOT, "family", "web:1")
        assert await chats.send(FAMILY, "web:1", "@Andy hello", message_id="m-1") == 1
        assert await chats.send(FAMILY, "web:1", "@Andy hello", message_id="m-1") == 1
        assert await chats.send(ROOT, "web:1", "from root", message_id="m-1", sender_name="Root") == 2
        assert await chats.send(FAMILY, "web:1", "twice") == 3
        assert await chats.send(FAMILY, "web:1", "twice") == 4
        transcript = await chats.transcript(FAMILY, "web:1")
        rows = [(each.message.sender, each.message.sender_name, each.message.text) for each in transcript.messages]
        assert rows[:2] == [("group:family", "group:family", "@Andy hello"), ("root", "Root", "from root")]
        assert (transcript.first, transcript.last, transcript.next_after) == (1, 4, None)
        assert transcript.is_writable
        assert harness.writes
        kinds = [each.event.kind for each in await harness.store.events(0)]
        assert kinds.count(EventKind.MESSAGE_APPENDED) == 4
        page = await harness.store.read_messages("group:family", "chat:web:1")
        assert page is not None
        assert {each.message.source for each in page.messages} == {"web"}


async def test_refusals_of_messages() -> None:
    async with open_harness() as harness:
        chats = harness.service.chats
        await harness.service.groups.add(ROOT, "family", "web:1")
        await harness.service.groups.add(ROOT, "work", "telegram:-1")
        assert await code_of(chats.send(ROOT, "telegram:-1", "hello")) == "chat_read_only"
        assert await code_of(chats.send(ROOT, "web:1", " \n")) == "empty_chat_message"
        assert await code_of(chats.send(ROOT, "web:1", 5)) == "empty_chat_message"
        assert await code_of(chats.send(ROOT, "web:1", "x", message_id="")) == "bad_text"
        assert await code_of(chats.send(ROOT, "web:1", "x", sender_name="y" * 500)) == "bad_text"
        assert await code_of(chats.send(ROOT, "web:1", "x" * 70_000)) == "message_too_large"
        assert await code_of(chats.send(ROOT, "web:2", "x")) == "no_such_chat"
        assert await code_of(chats.send(ROOT, "", "x")) == "no_such_chat"
        viewer = FAMILY._replace(scopes=SCOPES_OF[Role.VIEWER], role=Role.VIEWER)
        assert await code_of(chats.send(viewer, "web:1", "x")) == "not_allowed"
        assert await code_of(chats.page(FAMILY._replace(agent="family"))) == "not_for_agents"
        assert await code_of(chats.transcript(ADA, "web:1")) == "no_such_chat"
        assert await code_of(chats.transcript(FAMILY, "web:1", limit=0)) == "bad_number"
        assert await code_of(chats.transcript(FAMILY, "web:1", after=-1)) == "bad_number"


async def test_list_has_the_last_message_and_pending_texts() -> None:
    async with open_harness() as harness:
        chats = harness.service.chats
        await harness.service.groups.add(ROOT, "family", "web:1")
        await harness.service.groups.add(ROOT, "work", "telegram:-1")
        await chats.send(FAMILY, "web:1", "first")
        await answer(harness, "hello", 1)
        family, work = (await chats.page(ROOT)).items
        assert (family.group.folder, family.pending, family.is_writable) == ("family", 1, True)
        assert family.last is not None
        assert (family.last.text, family.last.is_own) == ("hello", True)
        assert (work.last, work.pending, work.is_writable) == (None, 0, False)
        assert [each.group.folder for each in (await chats.page(FAMILY)).items] == ["family"]
        assert (await chats.transcript(ROOT, "telegram:-1")).messages == ()


async def test_answers_have_their_delivery_and_run() -> None:
    async with open_harness() as harness:
        await harness.service.groups.add(ROOT, "family", "web:1")
        await answer(harness, "same", 1)
        second = await answer(harness, "same", 2, "run_2/0")
        sent = as_sent(second, NOON + timedelta(seconds=61))
        await harness.store.write_records(
            [
                RecordWrite(delivery_record(second), 1, dropped=True),
                RecordWrite(delivery_record(sent)),
            ]
        )
        harness.clock.advance(60)
        now = harness.clock.now()
        unsent = assistant_message("chat:web:1", "no delivery", "Andy", "run_3/0", now)
        other = assistant_message("chat:web:1", "other", "Andy", "req_1", now)
        await harness.store.append_messages("group:family", [unsent, other])
        rows = (await harness.service.chats.transcript(FAMILY, "web:1")).messages
        assert [None if row.delivery is None else row.delivery.state.value for row in rows] == [
            "pending",
            "sent",
            None,
            None,
        ]
        assert [row.run_id for row in rows] == ["run_7", "run_7", "run_3", None]


async def test_newest_messages_and_pages() -> None:
    async with open_harness() as harness:
        chats = harness.service.chats
        await harness.service.groups.add(ROOT, "family", "web:1")
        for number in range(1, 8):
            await chats.send(FAMILY, "web:1", str(number))
        newest = await chats.transcript(FAMILY, "web:1", limit=3)
        assert [each.message.text for each in newest.messages] == ["5", "6", "7"]
        page = await chats.transcript(FAMILY, "web:1", after=0, limit=3)
        assert ([each.message.text for each in page.messages], page.next_after) == (["1", "2", "3"], 3)


async def test_agent_works_while_a_run_of_its_lane_is_live_and_not_idle() -> None:
    async with open_harness() as harness:
        group = await harness.service.groups.add(ROOT, "family", "web:1")
        chats = harness.service.chats
        assert not await chats.is_working(group)
        request = TaskRequest("turn", "every 1h", TARGET, zone="UTC")
        options = request.options._replace(lanes=("group:family", "agents"))
        await harness.tasks.create(ROOT, request._replace(options=options, owner="group:family"))
        harness.clock.advance(3_600)
        (run,) = await harness.claim()
        assert await chats.is_working(group)
        assert (await chats.transcript(FAMILY, "web:1")).is_working
        await harness.store.declare_idle(run.id, run.token, harness.clock.now())
        assert not await chats.is_working(group)
