"""Harness of host tests: the service at noon in virtual time with an intake, a router, and turns that a test settles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from horae.agents.host.channel_states import ChannelStates
from horae.agents.host.chat_commander import ChatCommander
from horae.agents.host.intake import ChannelIntake, ChatGroups, IntakeParts
from horae.agents.host.known_chats import KnownChats
from horae.agents.host.outbox import Outbox
from horae.agents.host.router import Router
from horae.agents.host.sender_file import SenderFile
from horae.agents.host.turn_tasks import TURN_KEY
from horae.lifecycle.settle import settle
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.accounts.system_owner import system_owner
from horae.model.agents.delivery import PENDING_KIND, Delivery, delivery_from
from horae.model.agents.group import Group
from horae.model.change import Facts
from horae.model.messages import CursorMove, RunWrites
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.ports.channel import IncomingMessage
from horae.ports.chat_messages import read_chat_message
from horae.ports.full_store import FullStore
from horae.ports.target import DEFAULT_READER
from horae.runtime.stores import make_store
from horae.schedule import Schedule
from horae.service.tasks.task_request import TaskRequest
from tests.unit.service.service_harness import ServiceHarness

PROMPT = Target("agent", '{"group":"family"}')


class HostHarness(ServiceHarness):
    """Chats are those of a channel `test`. Turns are claimed and settled by `answer` and `fail`."""

    def __init__(self, store: FullStore, senders: Path | None = None) -> None:
        super().__init__(store)
        self.noted: list[str] = []
        self.piped: list[str] = []
        self.sender_file = SenderFile(senders)
        self._number = 0
        self.restart()

    def restart(self) -> None:
        """Begin again like a new process: nothing in memory is left."""
        service, clock = self.service, self.clock
        self.outbox = Outbox(service, clock)
        self.commander = ChatCommander(service, clock, self.outbox)
        self.router = Router(service, clock, self.commander, self.outbox, self.piped.append)
        self.groups = ChatGroups(service.groups, clock)
        self.known = KnownChats(service.store, clock, most=3)
        self.states = ChannelStates(service.store, clock)
        parts = IntakeParts(service, clock, self.groups, self.known, self.sender_file, self.states, self._note)
        self.intake = ChannelIntake("test", parts)

    def _note(self, group: Group) -> None:
        self.noted.append(group.folder)
        self.router.note(group)

    async def add_group(self, folder: str = "family", chat: str = "1", **fields: Any) -> Group:
        group = await self.service.groups.add(LOCAL, folder, f"test:{chat}", **fields)
        self.groups.forget()
        return group

    async def say(self, text: str, chat: str = "1", **fields: Any) -> IncomingMessage:
        """Receive a message."""
        self._number += 1
        name = str(self._number)
        message = IncomingMessage(chat, name, f"{chat}:{name}", "ada", "Ada", text, self.clock.now())
        message = message._replace(**fields)
        await self.intake.on_message(message)
        return message

    async def look(self) -> None:
        await self.router.look()

    # --- turns ---------------------------------------------------------------------------------------------------------

    async def turns(self) -> list[Run]:
        """Start every turn that is due."""
        return await self.claim()

    async def answer(self, run: Run, group: Group, up_to: int | None = None) -> None:
        """Settle a turn as a success that has handled the messages up to a number, by default all."""
        state = await self.store.stream(group.owner, group.stream)
        assert state is not None
        await self.store.register_reader(group.owner, group.stream, DEFAULT_READER, 0, self.clock.now())
        before = await self.handled(group)
        last = state.stream.last if up_to is None else up_to
        move = CursorMove(group.stream, DEFAULT_READER, ((before + 1, last),), self.clock.now())
        await self.end(run, Succeeded(), RunWrites(moves=(move,)))

    async def fail(self, run: Run) -> None:
        await self.end(run, Failed("the model did not answer"))

    async def end(self, run: Run, outcome: Outcome, writes: RunWrites | None = None) -> None:
        report = Settlement(run.id, run.token, outcome, run.started, self.clock.now(), writes=writes)
        assert not await self.store.settle([report], settle)

    async def fail_for_good(self) -> None:
        """Let the waiting turn fail, with all its retries."""
        for seconds in (5, 10, 20, 40, 80, 0):
            (run,) = await self.turns()
            await self.fail(run)
            self.advance(timedelta(seconds=seconds))
        assert await self.turns() == []

    async def handled(self, group: Group) -> int:
        state = await self.store.stream(group.owner, group.stream)
        cursors = () if state is None else state.cursors
        return max((each.number for each in cursors if each.reader == DEFAULT_READER), default=0)

    async def turn_task(self, group: Group) -> Facts | None:
        return await self.store.find(system_owner(group.owner), TURN_KEY)

    # --- what the chat sees ----------------------------------------------------------------------------------------------

    async def texts(self, group: Group) -> list[str]:
        """All texts of the stream, in order; those of the assistant begin with `<`."""
        page = await self.store.read_messages(group.owner, group.stream, 0, 200)
        found = () if page is None else page.messages
        return [("< " if read_chat_message(each).is_own else "") + each.message.text for each in found]

    async def deliveries(self) -> list[Delivery]:
        page = await self.store.records(PENDING_KIND, None, None, 500)
        return [delivery_from(each) for each in page.items]

    async def add_task(
        self, group: Group, name: str, when: str | Schedule = "every day at 9:00", **fields: Any
    ) -> Task:
        principal = Principal(group.owner, zone="UTC", **fields)
        spec = Target("agent", '{"group":"' + group.folder + '"}')
        return await self.service.tasks.create(principal, TaskRequest(name, when, spec, '{"prompt":"go"}', zone="UTC"))


@asynccontextmanager
async def open_host(url: str = "memory://", senders: Path | None = None) -> AsyncIterator[HostHarness]:
    store = make_store(url)
    await store.open()
    try:
        yield HostHarness(store, senders)
    finally:
        await store.close()
