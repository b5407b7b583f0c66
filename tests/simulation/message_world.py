"""A simulated cluster whose runs handle messages: crashes and stale runs, and the check of cursor against answers."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Final

from horae.lifecycle.plan import Draft, plan
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.messages import NewMessage
from horae.model.outcome import Outcome
from horae.model.policy import Missed, Policies, RetryPolicy
from horae.model.task import Target
from horae.ports.full_store import FullStore
from horae.ports.target import Invocation
from horae.schedule import Every
from tests.simulation.clients import Clients
from tests.simulation.target import SimulatedTarget
from tests.simulation.target_behaviours import Behaviour
from tests.simulation.world import World

CHAT: Final = "chat"
ANSWERS: Final = "answers"
MINUTE: Final = timedelta(minutes=1)
_POLICIES: Final = Policies(
    overlap="queue_all", missed=Missed("all", None, 1_000), retry=RetryPolicy(2, MINUTE), give_up_after=None
)


class MessageTarget(SimulatedTarget):
    """Answers and acknowledges all new messages, then ends as its behaviour says: it may fail, or kill its node."""

    async def _act(self, invocation: Invocation, temper: Behaviour) -> Outcome:
        page = await invocation.messages.read(CHAT)
        for message in page.messages:
            invocation.messages.send(ANSWERS, f"re: {message.number}")
            invocation.messages.acknowledge(CHAT, message.number)
        return await super()._act(invocation, temper)


class MessageClients(Clients):
    """Clients that add two tasks which handle one stream, and write to it every ten minutes."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the tasks are always the same
        await self._send(0)
        now = self._clock.now()
        for behaviour in (Behaviour.FLAKY, Behaviour.KILLER):
            task_id = make_id("tsk", now, self._dice.randbytes(ENTROPY_BYTES))
            draft = Draft(
                "ada",
                behaviour.value,
                Every(interval=(30 if behaviour is Behaviour.KILLER else 20) * MINUTE),
                Target("simulated", "{}"),
                f'"{behaviour.value}"',
                _POLICIES,
            )
            await self._inner.add([plan(draft, task_id, now)])

    async def _send(self, place: int) -> None:
        message = NewMessage(CHAT, f"message {place}", "Ada", "web", str(place), self._clock.now())
        await self._inner.append_messages("ada", [message])

    async def run(self) -> None:
        place = 0
        while True:
            await self._clock.pause(600)
            place += 1
            await self._send(place)


class MessageWorld(World):
    make_clients = MessageClients


async def check_messages(store: FullStore) -> list[str]:
    """Return every contradiction: a message is answered if and only if the cursor has passed it."""
    problems = list(await store.check())
    state = await store.stream("ada", CHAT)
    cursor = 0 if state is None or not state.cursors else state.cursors[0].number
    answered: Counter[str] = Counter()
    after: int | None = 0
    while after is not None:
        page = await store.read_messages("ada", ANSWERS, after, 100)
        answered.update(message.message.text for message in (() if page is None else page.messages))
        after = None if page is None else page.next_after
    for number in range(1, (0 if state is None else state.stream.last) + 1):
        is_answered, is_passed = answered[f"re: {number}"] > 0, number <= cursor
        if is_answered != is_passed:
            problems.append(f"message {number} is answered: {is_answered}, passed by the cursor: {is_passed}")
    return problems
