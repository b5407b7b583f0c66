"""One run of the agent target: starts the agent, feeds its output to the state machine, and executes the resulting actions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from ...clock import Clock
from ...errors import HoraeError
from ...model.agents.group import Group
from ...model.agents.usage import NO_USAGE, RunUsage, usage_write
from ...model.limits import LOG_LINE_CHARACTERS, shorten
from ...model.outcome import Outcome, Skipped, Succeeded
from ...model.record import RecordWrite
from ...ports.chat_messages import ASSISTANT_SOURCE
from ...ports.records import Records
from ...ports.runtime import MIB, Limits, Mount, Runtime, RuntimeProcess, RuntimeSpec
from ...ports.secret_masks import Masks
from ...ports.target import Invocation
from ...ports.text_parts import TextLimit, split_text
from ...service.chats.delivery_records import DeliveryQueue
from ..model_proxy import ModelAccess, ModelProxy, open_model_access
from ..mounts import MountRequest, resolve_mounts
from ..protocol import AgentInput, BadResult, ResultParser, write_input
from ..protocol.input import MODEL_SOCKET, MODEL_SOCKET_VARIABLE
from ..protocol.result_parser import Parsed
from ..runner.child import prompt_with_data
from ..runtime_factory import Program
from ..settings import AgentSettings
from ..workspace import GROUP_TARGET, Workspace
from .input_directory import InputDirectory
from .live_agents import LiveAgent
from .records import (
    MESSAGED_KIND,
    PROGRESS_KIND,
    SESSION_KIND,
    Progress,
    Session,
    progress_from,
    session_from,
    session_key,
    write_progress,
    write_session,
)
from .run_log import AgentLog
from .spec import AgentSpec, ContextMode
from .stream_reader import StreamReader
from .turn_state import (
    Action,
    AgentEnded,
    BudgetUsedUp,
    CommitResult,
    DeclareIdle,
    Event,
    MessageBatch,
    MessagesFound,
    OutputDamaged,
    PipeMessages,
    ReportOutput,
    RequestClose,
    ResultRead,
    Settle,
    StopAgent,
    TimePassed,
    TurnLimits,
    TurnState,
    WriteLog,
    YieldRequested,
    result_json,
)

POLL_SECONDS: Final = 2.0
"""Between two looks at the stream of an idle agent, where nothing reports new messages."""
TICK_SECONDS: Final = 0.25
"""Between two looks at the clock and at requests to yield."""
_STOP_GRACE: Final = 1.0
_PART: Final = TextLimit(32 * 1024, lambda text: len(text.encode(errors="replace")))
"""Longest text of one delivery, and of one message of the assistant."""


class Wake(NamedTuple):
    """Messages have arrived."""


class AgentParts(NamedTuple):
    """What all runs of the target share."""

    settings: AgentSettings
    workspace: Workspace
    runtime: Runtime
    program: Program
    records: Records
    clock: Clock
    deliveries: DeliveryQueue
    on_delivery: Callable[[], None]
    """Called after a delivery was committed."""
    model_proxy: ModelProxy | None = None


class BudgetReport(Protocol):
    async def __call__(self, usage: RunUsage) -> str | None:
        """Charge what the run has used so far; return why a budget is used up, or None."""


class AgentRun:
    """`batch` are the messages of the first prompt; None for a task, which has `prompt` instead."""

    def __init__(  # noqa: PLR0913 - parts of one run, each by its name
        self,
        parts: AgentParts,
        invocation: Invocation,
        group: Group,
        spec: AgentSpec,
        live: LiveAgent,
        secrets: Mapping[str, str],
        *,
        report_usage: BudgetReport,
        reader: StreamReader | None = None,
        batch: MessageBatch | None = None,
        prompt: str = "",
    ) -> None:
        self._parts = parts
        self._invocation = invocation
        self._group = group
        self._spec = spec
        self._live = live
        self._secrets = secrets
        self._mask = Masks(secrets.values()).mask
        live.mask = self._mask
        self._report_usage = report_usage
        self._written_usage = NO_USAGE
        self._charged_usage = NO_USAGE
        self._is_budget_used_up = False
        self._usage_writes = 0
        self._reader = reader
        self._batch = batch
        self._prompt = prompt if batch is None else batch.prompt
        self._input = InputDirectory(parts.workspace, group.folder)
        self._events: asyncio.Queue[Event | Wake] = asyncio.Queue()
        self._session = Session("", "")
        self._progress = Progress(invocation.key, group.owner)
        self._seen_results = 0
        self._began: float | None = None
        self._state: TurnState | None = None
        self._model: ModelAccess | None = None

    async def execute(self) -> Outcome:
        """Run the agent to its end; a session that does not exist is removed, and the agent begins afresh."""
        self._session = await self._load_session()
        if self._spec.messages is False:
            key = self._invocation.key
            self._progress = progress_from(
                key, self._group.owner, await self._parts.records.get_record(PROGRESS_KIND, key)
            )
            if self._progress.is_done:
                return Succeeded(result_json(self._progress.text))
        settled = await self._run_agent(self._session.id)
        if settled.is_stale and self._session.id is not None:
            self._invocation.log("the session does not exist any more; the agent begins without it", "warning")
            await self._remove_session()
            self._parts.workspace.prepare(self._group.folder, self._parts.runtime.owner)
            settled = await self._run_agent(None)
        return settled.outcome

    @property
    def usage(self) -> RunUsage:
        """What the agent has reported; at least the tokens and the cost that the model proxy has counted."""
        reported = NO_USAGE if self._state is None else self._state.usage
        if self._model is None or not self._model.usage.requests:
            return reported
        counted = self._model.usage
        return reported._replace(
            input_tokens=max(reported.input_tokens or 0, counted.input_tokens),
            output_tokens=max(reported.output_tokens or 0, counted.output_tokens),
            cost_micros=max(
                (each for each in (reported.cost_micros, counted.cost_micros) if each is not None), default=None
            ),
            model=reported.model or counted.model,
            unpriced=counted.unpriced,
        )

    # --- one agent ---------------------------------------------------------------------------------------------------

    async def _run_agent(self, session_id: str | None) -> Settle:
        parts, folder, run = self._parts, self._group.folder, self._invocation.run
        if not self._input.is_empty:
            # In a thread: an earlier agent can have left any number of files.
            await asyncio.to_thread(self._input.clear)
        self._seen_results = 0
        with AgentLog(parts.workspace.logs(folder), run.id, self._invocation, self._mask) as log:
            log.event(
                parts.clock.now(), f"group {folder}, task {run.task_id}, attempt {run.attempt}, session {session_id}"
            )
            async with (
                open_model_access(parts.model_proxy, run.id, MODEL_SOCKET) as self._model,
                await parts.runtime.start(self._runtime_spec(log)) as process,
            ):
                # Beside the clock of the agent: one that does not read its input ends by its timeout.
                jobs = [
                    asyncio.ensure_future(self._read_output(process, log)),
                    asyncio.ensure_future(self._write_input(process, session_id)),
                ]
                try:
                    limits = self._group.limits
                    seconds = TurnLimits(
                        limits.timeout.total_seconds(), limits.idle.total_seconds(), limits.max_run.total_seconds()
                    )
                    now = parts.clock.steady()
                    self._began = now if self._began is None else self._began
                    self._state = TurnState(seconds, self._batch, now, self._began)
                    self._live.wake = lambda: self._events.put_nowait(Wake())
                    return await self._handle_events(self._state, process, log)
                finally:
                    for job in jobs:
                        job.cancel()
                    await asyncio.gather(*jobs, return_exceptions=True)
                    log.show_stderr()

    async def _write_input(self, process: RuntimeProcess, session_id: str | None) -> None:
        await process.write(self._stdin(session_id))
        process.close_input()

    def _stdin(self, session_id: str | None) -> bytes:
        return write_input(
            AgentInput(
                prompt=self._prompt,
                group_folder=self._group.folder,
                chat_jid=self._group.chat,
                is_main=self._group.is_main,
                session_id=session_id,
                is_scheduled_task=self._batch is None,
                assistant_name=self._parts.settings.assistant,
                script=self._spec.script,
                secrets=self._secrets,
            )
        )

    def _runtime_spec(self, log: AgentLog) -> RuntimeSpec:
        parts, limits, program = self._parts, self._group.limits, self._parts.program
        return RuntimeSpec(
            run=self._invocation.run.id,
            program=program.words,
            mounts=[*parts.workspace.mounts(self._group), *self._extra_mounts(log), *program.mounts],
            sockets=program.sockets if self._model is None else (*program.sockets, self._model.socket),
            # The variable names the socket where a runtime has no mounts, and translates paths instead.
            environment={
                "TZ": self._group.zone or "UTC",
                **({MODEL_SOCKET_VARIABLE: MODEL_SOCKET} if self._model or program.sockets else {}),
                **program.environment,
            },
            directory=GROUP_TARGET,
            limits=Limits(memory=limits.memory_megabytes * MIB, processes=limits.processes, cpus=limits.processors),
        )

    def _extra_mounts(self, log: AgentLog) -> Sequence[Mount]:
        """Return the directories that the operator permits; the others are missing inside, and the log says why."""
        requests = [MountRequest(each.path, each.name, not each.is_writable) for each in self._group.mounts]
        if not requests:
            return ()
        resolved = resolve_mounts(
            self._parts.settings.mount_list,
            requests,
            is_main=self._group.is_main,
            reserved=self._parts.workspace.reserved,
        )
        for refusal in resolved.refusals:
            log.line(self._parts.clock.now(), str(refusal), "warning")
        return resolved.mounts

    async def _read_output(self, process: RuntimeProcess, log: AgentLog) -> None:
        parser = ResultParser()
        async for chunk in process.output():
            if chunk.stream == "stderr":
                log.add_stderr(chunk.data)
            else:
                self._put_results(parser.feed(chunk.data))
        self._put_results(parser.finish())
        self._events.put_nowait(AgentEnded(await process.wait(), log.stderr))

    def _put_results(self, parsed: Sequence[Parsed]) -> None:
        """Report the results with the secrets of the agent masked: a model that was tricked could send them to the chat."""
        for each in parsed:
            if isinstance(each, BadResult):
                damaged = each._replace(message=self._mask(each.message), excerpt=self._mask(each.excerpt))
                self._events.put_nowait(OutputDamaged(damaged))
            else:
                text, error = (None if value is None else self._mask(value) for value in (each.result, each.error))
                self._events.put_nowait(ResultRead(replace(each, result=text, error=error)))

    # --- events and actions ------------------------------------------------------------------------------------------

    async def _handle_events(self, state: TurnState, process: RuntimeProcess, log: AgentLog) -> Settle:
        clock = self._parts.clock
        look_at = check_at = clock.steady()
        while True:
            event = await self._next_event()
            now = clock.steady()
            if isinstance(event, Wake):
                look_at = check_at = now
            elif not isinstance(event, TimePassed):
                settled = await self._act(state.handle(event, now), process, log)
                if settled is not None:
                    return settled
                await self._charge(state, process, log)
            if now >= check_at or isinstance(event, TimePassed):
                # Also while the agent writes without a pause.
                check_at = now + TICK_SECONDS
                self._invocation.heartbeat()  # the hard timeout of the agent counts
                if self._invocation.yield_requested:
                    await self._act(state.handle(YieldRequested(self._invocation.yield_reason), now), process, log)
                if state.takes_messages and now >= look_at:
                    look_at = now + POLL_SECONDS
                    await self._look_for_messages(state, process, log)
                await self._act(state.handle(TimePassed(), now), process, log)
                await self._charge(state, process, log)

    async def _charge(self, state: TurnState, process: RuntimeProcess, log: AgentLog) -> None:
        """Charge the usage to the budgets; an agent that has used one up begins no further turn.

        Also between two results: the model proxy counts the tokens of an agent that does not answer.
        """
        usage = self.usage
        if usage == self._charged_usage or self._is_budget_used_up:
            return
        self._charged_usage = usage
        note = await self._report_usage(usage)
        if note is not None:
            self._is_budget_used_up = True
            await self._act(state.handle(BudgetUsedUp(note), self._parts.clock.steady()), process, log)

    async def _next_event(self) -> Event | Wake:
        try:
            async with asyncio.timeout(TICK_SECONDS):
                return await self._events.get()
        except TimeoutError:
            return TimePassed()

    async def _look_for_messages(self, state: TurnState, process: RuntimeProcess, log: AgentLog) -> None:
        if self._reader is None:
            return
        batch = await self._reader.next_batch(state.handled)
        if batch is not None:
            await self._act(state.handle(MessagesFound(batch), self._parts.clock.steady()), process, log)

    async def _act(self, actions: Sequence[Action], process: RuntimeProcess, log: AgentLog) -> Settle | None:
        now = self._parts.clock.now()
        for action in actions:
            match action:
                case CommitResult():
                    await self._commit(action, log)
                case PipeMessages(batch):
                    log.line(now, f"{batch.length} further messages for the agent")
                    self._input.write_message(batch.prompt)
                case RequestClose(reason):
                    log.event(now, f"asked to close: {reason}")
                    self._input.request_close()
                case StopAgent(reason):
                    log.event(now, f"stopped: {reason}")
                    await process.stop(_STOP_GRACE)
                case DeclareIdle(is_idle):
                    self._invocation.idle(is_idle)
                case ReportOutput():
                    self._invocation.heartbeat()
                case WriteLog(text, level):
                    log.line(now, text, level)
                case Settle():
                    log.event(now, f"ended: {action.outcome}")
                    return action
        return None

    # --- commits -----------------------------------------------------------------------------------------------------

    async def _commit(self, result: CommitResult, log: AgentLog) -> None:
        """Commit a result with the messages that it answers, its delivery and the session, in one transaction."""
        messages, group, now = self._invocation.messages, self._group, self._parts.clock.now()
        text = (
            None
            if result.text is None
            else result.text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        )
        if text is not None:
            self._seen_results += 1
            log.line(now, shorten(text, LOG_LINE_CHARACTERS), "result")
        has_writes = self._stage_usage() | self._stage_session(result.session_id)
        if result.batch is not None:
            messages.acknowledge(group.stream, *range(result.batch.first, result.batch.handled + 1))
            has_writes = True
        has_delivery = text is not None and await self._delivers()
        if text is not None and has_delivery:
            await self._stage_delivery(text)
            has_writes = True
        if not self._spec.messages and (text is not None or result.is_turn_end):
            self._stage_progress(text, is_done=result.is_turn_end)
            has_writes = True
        if has_writes:
            await messages.commit()
        if has_delivery:
            self._parts.on_delivery()

    async def _delivers(self) -> bool:
        """Whether a text of the agent goes to the chat: not again what an earlier attempt has committed, and not the result of
        a task that has messaged its chat. Any host of the directory may have carried out that request: the store knows."""
        if self._spec.messages:
            return True
        if self._seen_results <= self._progress.results:
            return False
        return await self._parts.records.get_record(MESSAGED_KIND, self._invocation.key) is None

    async def _stage_delivery(self, text: str) -> None:
        messages, group, parts, run = self._invocation.messages, self._group, self._parts, self._invocation.run
        now, name = parts.clock.now(), parts.settings.assistant
        deliveries = [
            parts.deliveries.make(group.owner, group.chat, part, now, run.id, f"{self._identity}:{number}")
            for number, part in enumerate(split_text(text, _PART))
        ]
        writes = await parts.deliveries.writes(deliveries)
        for each in deliveries:
            messages.send(group.stream, each.text, sender=name, source=ASSISTANT_SOURCE, id=each.message_id)
        messages.attach(writes)

    @property
    def _identity(self) -> str:
        return f"{self._invocation.key}:{self._invocation.run.attempt}:{self._seen_results}"

    def _stage_progress(self, text: str | None, *, is_done: bool) -> None:
        before = self._progress
        after = before._replace(
            results=max(before.results, self._seen_results),
            text=before.text if text is None else shorten(text, LOG_LINE_CHARACTERS * 4),
            is_done=before.is_done or is_done,
        )
        self._invocation.messages.attach([write_progress(after, self._parts.clock.now())])
        self._progress = after._replace(version=(before.version or 0) + 1)

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def _load_session(self) -> Session:
        """Return the session to continue: that of the group, or of the series; without an id for an isolated task."""
        group, task = self._group, self._invocation.task
        key = session_key(group.folder, task.id if self._spec.context_mode is ContextMode.SERIES else None)
        if self._spec.context_mode is ContextMode.ISOLATED:
            return Session(key, group.owner)
        return session_from(key, group.owner, await self._parts.records.get_record(SESSION_KIND, key))

    @property
    def _keeps_session(self) -> bool:
        """A task that joins the session of the group's chat does not replace it."""
        return self._spec.messages or self._spec.context_mode is ContextMode.SERIES

    def _stage_session(self, session_id: str | None) -> bool:
        if session_id is None or session_id == self._session.id or not self._keeps_session:
            return False
        self._invocation.messages.attach([write_session(self._session, session_id)])
        self._session = self._session._replace(id=session_id, version=(self._session.version or 0) + 1)
        return True

    async def _remove_session(self) -> None:
        if self._session.version is not None:
            await self._write([write_session(self._session, None)])
        self._session = self._session._replace(id=None, version=None)

    async def _write(self, records: Sequence[RecordWrite]) -> None:
        self._invocation.messages.attach(records)
        await self._invocation.messages.commit()

    # --- usage -------------------------------------------------------------------------------------------------------

    def _stage_usage(self) -> bool:
        usage = self.usage
        if usage == self._written_usage:
            return False
        run, now = self._invocation.run, self._parts.clock.now()
        write = usage_write(run.id, self._group.owner, usage, now, self._usage_writes or None)
        self._invocation.messages.attach([write])
        self._written_usage = usage
        self._usage_writes += 1
        return True

    async def commit_usage(self) -> None:
        """Commit the usage of the run with any outcome; a run that is no longer live here keeps no record."""
        with suppress(HoraeError):
            if self._stage_usage():
                await self._invocation.messages.commit()


def skipped_turn() -> Outcome:
    return Skipped("no messages wait for the agent")


def prompt_of(prompt: str, gate: str) -> str:
    """Return the prompt of a task; the data of its gate precede it, as those of a script do."""
    data = json.loads(gate)
    return prompt if data is None else prompt_with_data(prompt, data).removeprefix("[SCHEDULED TASK]\n\n")
