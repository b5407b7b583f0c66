"""The agent target and its kind: turns of messages and scheduled prompts, executed by agents in a sandbox."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final, Protocol

from ...clock import Clock
from ...engine.process_identity import is_gone
from ...errors import HoraeError, Refusal
from ...model.accounts.principal import LOCAL_OWNER
from ...model.agents.agent_task import AGENTS_LANE, group_lane
from ...model.agents.group import Group
from ...model.agents.usage import RunUsage
from ...model.lanes.lane import LaneLine
from ...model.limits import ERROR_CHARACTERS, shorten
from ...model.outcome import Failed, Outcome, Skipped
from ...model.reason import Reason, describe_reason
from ...model.run import Run
from ...ports.records import Records
from ...ports.runtime import Runtime
from ...ports.secret_masks import Masks
from ...ports.store import Node
from ...ports.target import Invocation, Secrets, TargetKind, Tools
from ...service.chats.delivery_records import DeliveryQueue
from ...service.groups.agent_stop import AgentStop
from ...service.groups.budgets import BudgetGrant, BudgetRefusal, Budgets
from ..model_proxy import make_model_proxy
from ..refusals import CATALOGUE
from ..requests.directory import UnsafeFile
from ..runtime_factory import Program, install_name, make_program, make_runtime
from ..settings import AgentSettings, read_settings
from .agent_run import AgentParts, AgentRun, prompt_of, skipped_turn
from .live_agents import LiveAgent, LiveAgents
from .spec import AgentSpec, canonical_spec, check_prompt, check_spec
from .stream_reader import StreamReader

LOG: Final = logging.getLogger("horae")
DEFAULT_AGENTS: Final = 5
_MAX_LIVE_RUNS: Final = 1_000
_MAX_WAITERS: Final = 50
_MAX_POSTPONED: Final = 3
"""Tasks of a group that go before its messages, one after another: messages do not wait for ever."""


class GroupFinder(Protocol):
    async def find(self, folder: str) -> Group | None: ...


class TargetStore(Records, Protocol):
    """Store interface of the target."""

    async def nodes(self) -> tuple[Node, ...]: ...
    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]: ...
    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine: ...
    async def lanes(self) -> tuple[Any, ...]: ...
    async def set_lane(self, name: str, limit: int | None) -> None: ...


async def _do_nothing(_folder: str) -> None: ...


class AgentTarget:
    """`live` are the agents that run now. `zone` is that of groups without one of their own."""

    def __init__(  # noqa: PLR0913 - dependencies, each by its name
        self,
        settings: AgentSettings,
        store: TargetStore,
        groups: GroupFinder,
        secrets: Secrets,
        clock: Clock,
        *,
        runtime: Runtime | None = None,
        program: Program | None = None,
        zone: str | None = None,
        budgets: Budgets | None = None,
        stop: AgentStop | None = None,
        live: LiveAgents | None = None,
        deliveries: DeliveryQueue | None = None,
    ) -> None:
        self.settings = settings
        self.workspace = settings.workspace
        self.live = LiveAgents() if live is None else live
        self._budgets = budgets
        self.before_start: Callable[[str], Awaitable[None]] = _do_nothing
        """Awaited before each agent starts, when the directories of its group are there: writes what the agent reads."""
        self.on_delivery: Callable[[], None] = lambda: None
        """Called after a text for a chat was committed: the sender looks for it at once."""
        self._stop = stop
        self.runtime = runtime or make_runtime(settings, install_name(str(self.workspace.root)))
        self._store = store
        self._groups = groups
        self._secrets = secrets
        self._zone = zone or "UTC"
        self._parts = AgentParts(
            settings,
            self.workspace,
            self.runtime,
            program or make_program(settings),
            store,
            clock,
            DeliveryQueue(store) if deliveries is None else deliveries,
            self._notify_sender,
            make_model_proxy(settings, secrets, clock),
        )

    async def start(self) -> None:
        """Check the runtime, end agents that a dead process has left, and limit the number of agents."""
        self.workspace.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        enforcement = await self.runtime.check()
        reaped = await self.runtime.reap(await self._live_runs())
        if self._parts.model_proxy is not None:
            self._parts.model_proxy.remove_stale_sockets()
        LOG.info("agents run by %s; limits: %s", self.settings.runtime, dict(enforcement))
        if reaped:
            LOG.warning("%d agents that an earlier process had left were ended", len(reaped))
        known = {lane.name for lane in await self._store.lanes()}
        if self.settings.limit is not None or AGENTS_LANE not in known:
            await self._store.set_lane(AGENTS_LANE, self.settings.limit or DEFAULT_AGENTS)

    async def _live_runs(self) -> frozenset[str]:
        """Return the runs whose process is alive, as far as that can be known: their agents are not reaped."""
        nodes = {node.id for node in await self._store.nodes() if not is_gone(node.home)}
        runs = await self._store.lane_runs(AGENTS_LANE, _MAX_LIVE_RUNS)
        return frozenset(run.id for run in runs if run.node in nodes)

    def _notify_sender(self) -> None:
        self.on_delivery()

    def notify(self, folder: str) -> bool:
        """Wake the live agent of a group at once: messages have arrived. False: it has none here."""
        return self.live.notify(folder)

    async def mask(self, folder: str, text: str) -> str:
        """Return a text of the agent of a group with its secrets masked, also where another host runs the agent.

        Values that the live agent of this process was given are masked too, if they have been replaced since.
        """
        values = [await self._secrets.reveal(LOCAL_OWNER, name) for name in self.settings.secrets]
        return Masks(value for value in values if value is not None).mask(self.live.mask(folder, text))

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = check_spec(json.loads(invocation.task.target.spec))
            prompt = "" if spec.messages else check_prompt(json.loads(invocation.task.payload))
            secrets = await self._reveal_secrets()
        except Refusal as refusal:
            return Failed(str(refusal), permanent=True, reason=Reason.NOT_CALLED)
        except (ValueError, RecursionError) as error:
            unread = shorten(f"its spec cannot be read: {error}", ERROR_CHARACTERS)
            return Failed(unread, permanent=True, reason=Reason.NOT_CALLED)
        except HoraeError as error:
            return Failed(shorten(f"its secrets cannot be read: {error}", ERROR_CHARACTERS), reason=Reason.NOT_CALLED)
        group = await self._groups.find(spec.group)
        if group is None:
            return Failed(f"Group not found: {spec.group}", permanent=True, reason=Reason.NOT_CALLED)
        stopped = await self._find_stop(group)
        if stopped is not None:
            return stopped
        return await self._execute_for(invocation, group, spec, prompt, secrets)

    async def _execute_for(
        self, invocation: Invocation, group: Group, spec: AgentSpec, prompt: str, secrets: Mapping[str, str]
    ) -> Outcome:
        run, reader, batch = invocation.run, None, None
        live = LiveAgent(group.folder, group.chat, run.id, run.task_id, is_task=not spec.messages)
        if spec.messages:
            reader = StreamReader(invocation.messages, self._store, group, group.zone or self._zone)
            batch = await reader.next_batch()
            if batch is None:
                return skipped_turn()
            if run.forgiven < _MAX_POSTPONED and await self._has_waiting_task(invocation, group):
                return Skipped("a task of the group goes first", again_after=timedelta(0))
        grant = await self._reserve(invocation, group)
        if isinstance(grant, BudgetRefusal):
            return grant.outcome
        agent = AgentRun(
            self._parts,
            invocation,
            group,
            spec,
            live,
            secrets,
            report_usage=_BudgetReport(self._budgets, grant),
            reader=reader,
            batch=batch,
            prompt=prompt_of(prompt, invocation.gate),
        )
        with self.live.enter(live):
            try:
                self.workspace.prepare(group.folder, self.runtime.owner)
                await self.before_start(group.folder)
                return await agent.execute()
            except Refusal as refusal:
                return Failed(shorten(str(refusal), ERROR_CHARACTERS), reason=Reason.NOT_CALLED)
            except (UnsafeFile, OSError) as error:
                return Failed(shorten(f"The directories of the agent cannot be used: {error}", ERROR_CHARACTERS))
            finally:
                await agent.commit_usage()
                if self._budgets is not None and grant is not None:
                    await self._budgets.settle(grant, agent.usage)

    async def _has_waiting_task(self, invocation: Invocation, group: Group) -> bool:
        """Whether a task of higher priority waits for the slot of its group, which this turn holds."""
        line = await self._store.lane_line(group_lane(group.folder), _MAX_WAITERS)
        return any(
            each.owner == group.owner and each.priority > invocation.task.policies.priority for each in line.waiters
        )

    async def _find_stop(self, group: Group) -> Skipped | None:
        """Return the outcome of a run whose group, agent or all agents are stopped; None if it may start."""
        if self._stop is not None:
            return await self._stop.check(group)
        is_stopped = group.is_stopped
        return Skipped(describe_reason(Reason.AGENT_STOPPED), Reason.AGENT_STOPPED) if is_stopped else None

    async def _reserve(self, invocation: Invocation, group: Group) -> BudgetGrant | BudgetRefusal | None:
        if self._budgets is None:
            return None
        return await self._budgets.reserve(group, invocation.task, invocation.run)

    async def _reveal_secrets(self) -> dict[str, str]:
        """Return the secrets of the settings; one that is missing is refused."""
        found: dict[str, str] = {}
        for name in self.settings.secrets:
            value = await self._secrets.reveal(LOCAL_OWNER, name)
            if value is None:
                raise CATALOGUE.refuse("agent_secret_missing", name=name)
            found[name] = value
        return found


class _BudgetReport:
    """Charges the usage of one run to its budgets."""

    def __init__(self, budgets: Budgets | None, grant: BudgetGrant | None) -> None:
        self._budgets = budgets
        self._grant = grant

    async def __call__(self, usage: RunUsage) -> str | None:
        if self._budgets is None or self._grant is None:
            return None
        refusal = await self._budgets.charge(self._grant, usage)
        return None if refusal is None else refusal.note


class AgentKind:
    kind: Final = "agent"

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        checked = check_spec(spec)
        if not checked.messages:
            check_prompt(payload)
        return canonical_spec(checked)

    def open(self, tools: Tools) -> AgentTarget:
        settings = read_settings(tools.settings)
        if not settings.enabled:
            raise CATALOGUE.refuse("agents_disabled")
        service = tools.service
        return AgentTarget(
            settings,
            service.store,
            service.groups,
            tools.secrets,
            tools.clock,
            zone=service.zone,
            budgets=service.budgets,
            stop=service.agent_stop,
            deliveries=service.deliveries.queue,
        )


AGENT: Final[TargetKind] = AgentKind()
