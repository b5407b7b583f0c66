"""A simulated cluster with one chat group: real router and agent target, agents that crash, and the check of the chat.

Each node has directories of its own. Agents are simulated processes; messages and two scheduled prompts share the group's lane.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import gettempdir
from types import TracebackType
from typing import Any, Final, Self, cast

from horae.agents.host.chat_commander import ChatCommander
from horae.agents.host.outbox import Outbox
from horae.agents.host.router import Router
from horae.agents.protocol import CLOSE_FILE
from horae.agents.runtime_factory import Program
from horae.agents.settings import AgentSettings
from horae.agents.target.target import AgentTarget
from horae.clock import Clock
from horae.encryption import Key
from horae.errors import HoraeError
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.agents.delivery import PENDING_KIND, Delivery, delivery_from
from horae.model.agents.group import GROUP_KIND, HANDLED_READER, Group, group_from
from horae.model.outcome import Outcome
from horae.model.run import Run, RunState
from horae.model.task import Target
from horae.ports.channel import IncomingMessage
from horae.ports.chat_messages import ChatMessage, read_chat_message, to_stream_message
from horae.ports.full_store import FullStore
from horae.ports.runtime import Enforcement, Exit, ExitCause, Output, Runtime, RuntimeProcess, RuntimeSpec
from horae.ports.target import Invocation, Secrets
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.task_request import NEVER, Options, RetryRequest, TaskRequest
from horae.stores.memory import MemoryStore
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence
from tests.simulation.target import SimulatedTarget
from tests.simulation.world import World

FOLDER: Final = "family"
POSTPONED: Final = "a task of the group goes first"
MOST_POSTPONED: Final = 3
_MARK: Final = "---HORAE_OUTPUT_{}---"
_IDLE: Final = timedelta(seconds=20)
_LOOK_SECONDS: Final = 30.0
_ROUND_SECONDS: Final = 900.0
_RETRY: Final = RetryRequest(attempts=4, backoff=timedelta(seconds=30), factor=1, jitter="none")


class SimulatedAgent:
    """One process of an agent: reads its prompt, answers, and reads further messages while it is idle.

    It names the messages that it answers: `re: 3 4`. The answer to a prompt is `report`.
    """

    def __init__(self, spec: RuntimeSpec, clock: Clock, dice: Random, *, benign: bool) -> None:
        self.name = spec.run
        self._clock = clock
        self._dice = dice
        self._benign = benign
        self._inbox = Path(next(each.source for each in spec.mounts if each.target == "/workspace/ipc"), "input")
        self._output: asyncio.Queue[Output | None] = asyncio.Queue()
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._job: asyncio.Task[None] | None = None

    async def write(self, data: bytes) -> None:
        self._job = asyncio.ensure_future(self._live(json.loads(data)))

    def close_input(self) -> None: ...

    async def output(self) -> AsyncIterator[Output]:
        while (chunk := await self._output.get()) is not None:
            yield chunk

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def stop(self, grace: float = 0.0) -> Exit:
        del grace
        self._end(137, "stopped")
        return await self.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(137, "stopped")

    def _end(self, code: int, cause: ExitCause) -> None:
        if self._job is not None:
            self._job.cancel()
        if not self._exit.done():
            self._exit.set_result(Exit(code, cause))
            self._output.put_nowait(None)

    def _emit(self, text: str | None) -> None:
        body = json.dumps({"status": "success", "result": text})
        lines = f"\n{_MARK.format('START')}\n{body}\n{_MARK.format('END')}\n"
        self._output.put_nowait(Output("stdout", lines.encode()))

    async def _live(self, given: dict[str, Any]) -> None:
        prompt: str | None = given["prompt"]
        while prompt is not None:
            numbers = re.findall(r"message (\d+);", prompt)
            await self._clock.pause(self._dice.choice((1.0, 5.0, 40.0)))
            if self._fails():
                return
            self._emit(f"re: {' '.join(numbers)}" if numbers else "report")
            await self._clock.pause(self._dice.choice((0.1, 3.0)))
            if self._fails():
                return
            self._emit(None)
            prompt = await self._next_prompt()
        self._end(0, "exited")

    def _fails(self) -> bool:
        """Crash, or hang until it is stopped, now and then."""
        chance = 1.0 if self._benign else self._dice.random()
        if chance < 0.1:
            self._end(3, "exited")
        return chance < 0.13

    async def _next_prompt(self) -> str | None:
        while True:
            await self._clock.pause(1.0)
            names = sorted(each for each in self._inbox.iterdir() if each.suffix == ".json")
            if names:
                text: str = json.loads(names[0].read_bytes())["text"]
                names[0].unlink()
                return text
            if (self._inbox / CLOSE_FILE).exists():
                return None


class SimulatedRuntime:
    """Starts simulated agents of one node."""

    is_isolated = True
    owner = (0, 0)

    def __init__(self, target: AgentSimulation) -> None:
        self._target = target

    async def check(self) -> Enforcement:
        return {}

    async def start(self, spec: RuntimeSpec) -> RuntimeProcess:
        shared = self._target.shared
        return SimulatedAgent(spec, self._target.clock, shared.dice, benign=shared.benign)

    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        del keep
        return ()


class GroupRecords:
    """Finds groups in the store."""

    def __init__(self, store: FullStore) -> None:
        self._store = store

    async def find(self, folder: str) -> Group | None:
        record = await self._store.get_record(GROUP_KIND, folder)
        return None if record is None else group_from(record)


class AgentSimulation(SimulatedTarget):
    """The agent target of a node."""

    kinds = ("agent",)
    folder = Path(gettempdir())
    """Directories of all nodes; a test sets it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.shared = self._surroundings
        self.clock = self._clock
        self._target: AgentTarget | None = None

    async def execute(self, invocation: Invocation) -> Outcome:
        if self._target is None:
            self._target = self._open()
        return await self._target.execute(invocation)

    def _open(self) -> AgentTarget:
        return AgentTarget(
            AgentSettings(enabled=True, directory=str(self.folder / self._life.partition(".")[0])),
            self._store,
            GroupRecords(self._store),
            cast("Secrets", None),
            self._clock,
            runtime=cast("Runtime", SimulatedRuntime(self)),
            program=Program(("agent",), {}),
        )


class AgentClients(Clients):
    """People who write to the chat, and a host that routes; its process ends now and then, and begins again."""

    async def add_initial_tasks(self, count: int) -> None:  # noqa: ARG002 - the tasks are always the same
        self._posted = 0
        service = self._make_service(self._inner)
        self._group = await service.groups.add(
            LOCAL, FOLDER, "web:1", requires_trigger=False, idle=_IDLE, timeout=timedelta(minutes=2)
        )
        options = Options(retry=_RETRY, give_up_after=NEVER, overlap="queue_all")
        for name in ("news", "weather"):
            request = TaskRequest(
                name,
                "every 15m",
                Target("agent", f'{{"group":"{FOLDER}"}}'),
                '{"prompt":"go"}',
                zone="UTC",
                options=options,
            )
            await service.tasks.create(Principal(self._group.owner), request)
        self._host = asyncio.ensure_future(self._route())

    def _make_service(self, store: FullStore) -> Service:
        return Service(
            store,
            self._clock,
            "UTC",
            SecretVault(store, Key.random(), self._clock),
            on_write=lambda _due: self._notify(),
        )

    async def run(self) -> None:
        """Write when the prompts are due, so that they and the messages wait for one slot, and at other times."""
        while True:
            now = self._clock.now()
            since = (now.minute * 60 + now.second) % _ROUND_SECONDS
            await self._clock.pause(_ROUND_SECONDS - since + self._dice.choice((2.0, 10.0, 400.0)))
            for _ in range(self._dice.choice((1, 1, 2, 5))):
                await self._post()

    async def _post(self) -> None:
        self._posted += 1
        name = str(self._posted)
        report = IncomingMessage("1", name, name, "ada", "Ada", f"message {name};", self._clock.now())
        message = to_stream_message(self._group.stream, "web", report, self._clock.now())
        await self._inner.append_messages(self._group.owner, [message])

    async def _route(self) -> None:
        """Look for messages; an error of the store, or an end of the process, begins with a new router."""
        router = self._new_router()
        while True:
            try:
                await router.look()
            except HoraeError:
                router = self._new_router()
            if self._dice.random() < 0.01:
                self._history.fault("a crash", "host")
                router = self._new_router()
            self._ring()
            await self._clock.pause(_LOOK_SECONDS * self._dice.choice((0.1, 1.0)))

    def _new_router(self) -> Router:
        service = self._make_service(self._elsewhere)
        outbox = Outbox(service, self._clock)
        return Router(service, self._clock, ChatCommander(service, self._clock, outbox), outbox)

    async def unblock_all(self) -> None: ...


class AgentWorld(World):
    make_clients = AgentClients
    length = timedelta(hours=6)


async def check_chat(evidence: Evidence, store: MemoryStore) -> list[str]:
    """Return every contradiction between the chat, the cursor, the deliveries and the runs."""
    problems = [f"the integrity check found: {doubt}" for doubt in evidence.doubts]
    group = await GroupRecords(store).find(FOLDER)
    assert group is not None
    chat = await _read_chat(store, group)
    state = await store.stream(group.owner, group.stream)
    assert state is not None
    cursor = max((each.number for each in state.cursors if each.reader == HANDLED_READER), default=0)
    page = await store.records(PENDING_KIND, group.owner, limit=1_000)
    deliveries = [delivery_from(each) for each in page.items]
    posted = [each for each in chat if not each.is_own]
    problems += [f"message {each.id} was never handled" for each in posted if each.number > cursor]
    # Retention removes old messages of the chat; the deliveries are all there.
    texts = [each.text.removeprefix("re: ") for each in deliveries if each.text.startswith("re: ")]
    answered = Counter(number for text in texts for number in text.split())
    for number in map(str, range(1, 1 + max(int(each.id) for each in posted))):
        if answered[number] != 1:
            problems.append(f"message {number} was answered {answered[number]} times")
    missing = Counter(each.id for each in chat if each.is_own) - Counter(each.message_id for each in deliveries)
    problems += [f"the text {each} of the chat has no delivery" for each in missing]
    return [*problems, *_check_prompts(evidence, group, deliveries), *_check_postponed(evidence)]


async def _read_chat(store: MemoryStore, group: Group) -> list[ChatMessage]:
    found: list[ChatMessage] = []
    after: int | None = 0
    while after is not None:
        page = await store.read_messages(group.owner, group.stream, after, 200)
        found += [] if page is None else map(read_chat_message, page.messages)
        after = None if page is None else page.next_after
    return found


def _check_prompts(evidence: Evidence, group: Group, deliveries: Sequence[Delivery]) -> Iterator[str]:
    """Each prompt is answered once, however many attempts it had."""
    reports: dict[tuple[str, datetime], int] = defaultdict(int)
    for each in deliveries:
        run = evidence.runs.get(each.origin)
        if run is not None and each.text == "report":
            reports[run.task_id, run.planned] += 1
    for rows in evidence.occurrences.values():
        last = rows[-1]
        if evidence.facts[last.task_id].task.owner == group.owner:
            count = reports[last.task_id, last.planned]
            if count > 1 or (last.state is RunState.SUCCEEDED and count != 1):
                yield f"the prompt of {last.id} was answered {count} times, and is {last.state}"


def postponed_runs(evidence: Evidence) -> list[Run]:
    return [run for run in evidence.runs.values() if run.state is RunState.SKIPPED and POSTPONED in (run.error or "")]


def _check_postponed(evidence: Evidence) -> Iterator[str]:
    """A turn that gave way to a task is tried again, uses up no attempt, and gives way three times in a row at most."""
    for rows in evidence.occurrences.values():
        in_a_row = 0
        for place, run in enumerate(rows):
            is_postponed = run.state is RunState.SKIPPED and POSTPONED in (run.error or "")
            in_a_row = in_a_row + 1 if is_postponed else 0
            if is_postponed and place + 1 == len(rows):
                yield f"{run.id} gave way to a task and was not tried again"
            if in_a_row > MOST_POSTPONED:
                yield f"{run.id} gave way to tasks {in_a_row} times in a row"
