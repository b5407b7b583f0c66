"""Composition of all use cases of one deployment into a `Service`, shared by all front ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Protocol

from ..clock import Clock
from ..errors import Refusal
from ..lifecycle.chain_graph import links_of
from ..model.accounts.principal import MEMBER_QUOTAS, Principal, Quotas, Scope
from ..model.agents.agent_task import owner_of_prompt
from ..model.agents.group import Group, folder_of_owner
from ..model.lanes.node_labels import LabelPairs, format_labels, has_labels, label_options
from ..model.plans.plan import DEFAULT_EXEC_TIMEOUT
from ..model.policy import Notify
from ..model.task import OPEN_STATES, Target
from ..outgoing.addresses import Networks
from ..ports.doctor import Check
from ..ports.full_store import FullStore
from ..ports.node_records import load_agreed_lease
from ..ports.notifier import Notifier, UnavailableNotifier
from ..state_names import state_name
from .accounts.agents import Agents
from .accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from .accounts.approvals import Approvals
from .accounts.audit import Audit
from .accounts.calendar_tokens import CalendarTokens
from .accounts.credential_lookup import CredentialLookup
from .accounts.fenced_store import make_fenced_store
from .accounts.key_budget import KeyBudget
from .accounts.owner_moves import OwnerMoves
from .accounts.owners import Accounts
from .accounts.quota_sweep import QuotaSweep
from .accounts.secrets import SecretVault
from .accounts.sessions import Sessions
from .accounts.stopped_tasks import StoppedTasks
from .accounts.storage_limit import StorageLimit
from .accounts.stored_output import StoredOutput
from .accounts.tokens import Tokens
from .accounts.views import Views
from .chats.chats import Chats
from .chats.deliveries import Deliveries
from .doctor import Doctor
from .events.delivery import WebhookClient
from .events.destinations import Destinations
from .events.event_bodies import EventEncoder
from .events.listeners import ListenerRegistry, topic_of
from .events.message_client import MessageClient
from .events.owner_sequence import Events
from .events.webhooks import Webhooks
from .groups.agent_stop import AgentStop
from .groups.budgets import Budgets
from .groups.group_nodes import GroupNodes
from .groups.groups import Groups
from .groups.lineages import Lineages
from .messages.streams import Streams
from .plans.plans import Plans
from .runs.daily_quota import DailyQuota
from .runs.explanations import Explanations
from .runs.failures import Failures
from .runs.fire_rights import FireRights
from .runs.lanes import Lanes
from .runs.nodes import Nodes
from .runs.outage_reviews import OutageReviews
from .runs.outages import Outages
from .runs.overview import Overviews
from .runs.planned import PlannedRuns
from .runs.runs import Runs
from .stations.stations import Stations
from .tasks.advisories import Advisory, build_advisory, build_bilingual_advisory, literal_secrets
from .tasks.chain_order import predecessors_of
from .tasks.commit import TaskWriter
from .tasks.dry_run import make_dry_run_store
from .tasks.edits import EditResult, Edits, Keep
from .tasks.functions.declared_tasks import DeclaredTasks
from .tasks.functions.functions import Functions, ResolvedRequest
from .tasks.operations.bulk import Bulk
from .tasks.operations.operations import Operations
from .tasks.task_quota import TaskQuota
from .tasks.task_request import TaskRequest
from .tasks.tasks import SystemTasks, Tasks


class Examination(Protocol):
    """The checks of a deployment; they come from the composition root, which knows the settings and the machine."""

    async def __call__(self, service: Service) -> tuple[Check, ...]: ...

    async def durability(self) -> tuple[Check, ...]: ...


class Service:
    """`check` checks targets, and `on_write` is called after each write; both come from the composition root.

    `member_quotas` are the default quotas of owners, `networks` those that webhooks may reach besides public ones,
    `plan_exec_timeout` bounds each execution of a plan, `notifier` sends messages to people, `examine` makes the checks of the doctor, `check_mounts` compares the mounts of a
    group with the operator's list.
    """

    def __init__(  # noqa: PLR0913 - settings of a deployment, each by its name
        self,
        store: FullStore,
        clock: Clock,
        zone: str | None,
        secrets: SecretVault,
        *,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        member_quotas: Quotas = MEMBER_QUOTAS,
        networks: Networks = (),
        notifier: Notifier | None = None,
        approval_policy: ApprovalPolicy = STRICT_POLICY,
        output: StoredOutput | None = None,
        examine: Examination | None = None,
        check_mounts: Callable[[Group], Sequence[Refusal]] = lambda _group: (),
        plan_exec_timeout: timedelta = DEFAULT_EXEC_TIMEOUT,
    ) -> None:
        self.owner_moves = OwnerMoves(store, clock)
        self.store = make_fenced_store(store, self.owner_moves)
        self.zone = zone
        self.secrets = secrets.with_records(self.store)
        self._clock = clock
        self._check = check
        self._notify = on_write
        self._member_quotas = member_quotas
        self._networks = networks
        self._notifier = notifier or UnavailableNotifier()
        self._approval_policy = approval_policy
        self._output = output or StoredOutput(store, clock)
        self._examine = examine
        self._check_mounts = check_mounts
        self._plan_exec_timeout = plan_exec_timeout

    # --- components, each built on first use: a command needs few of them -------------------------------------------------

    @cached_property
    def audit(self) -> Audit:
        return Audit(self.store, self._clock)

    @cached_property
    def _quota(self) -> TaskQuota:
        return TaskQuota(self.store, self._clock, self._member_quotas, self._output)

    @cached_property
    def _writer(self) -> TaskWriter:
        return TaskWriter(self.store, self._quota, self.audit)

    @cached_property
    def functions(self) -> Functions:
        return Functions(self.store, self._clock)

    @cached_property
    def listeners(self) -> ListenerRegistry:
        return ListenerRegistry(self.store, self._clock)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(
            self.store,
            self._clock,
            self.zone,
            self._on_write,
            check=self._check,
            writer=self._writer,
            approval_policy=self._approval_policy,
            functions=self.functions,
        )

    @cached_property
    def runs(self) -> Runs:
        return Runs(
            self.store,
            self.store,
            self._clock,
            self._on_write,
            self._writer,
            approval_policy=self._approval_policy,
            inputs=self.tasks.inputs,
        )

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.runs)

    @cached_property
    def outages(self) -> Outages:
        return Outages(self.store, self._clock)

    @cached_property
    def outage_reviews(self) -> OutageReviews:
        return OutageReviews(self.store, self._clock, self.outages)

    @cached_property
    def explanations(self) -> Explanations:
        return Explanations(self.store, self._clock, self.outages, self.functions)

    @cached_property
    def overview(self) -> Overviews:
        return Overviews(self.store, self._clock, self.outage_reviews)

    @cached_property
    def doctor(self) -> Doctor:
        return Doctor(self._clock, self._make_checks, self._check_durability)

    @cached_property
    def planned(self) -> PlannedRuns:
        return PlannedRuns(self.store, self._clock)

    @cached_property
    def events(self) -> Events:
        return Events(self.store)

    @cached_property
    def lanes(self) -> Lanes:
        return Lanes(self.store, self._clock, self._on_write)

    @cached_property
    def nodes(self) -> Nodes:
        return Nodes(self.store, self._clock, self._on_write)

    @cached_property
    def bulk(self) -> Bulk:
        return Bulk(self.tasks)

    @cached_property
    def operations(self) -> Operations:
        return Operations(self.store, self.tasks, self.audit, self._clock)

    @cached_property
    def system_tasks(self) -> SystemTasks:
        return SystemTasks(self.tasks)

    @cached_property
    def declared_tasks(self) -> DeclaredTasks:
        return DeclaredTasks(self.tasks, self.store, self.store, self.functions)

    @cached_property
    def accounts(self) -> Accounts:
        accounts = Accounts(
            self.store, self._clock, self.audit, member_quotas=self._member_quotas, on_write=self._on_write
        )
        accounts.on_quotas = self._apply_quotas
        accounts.check_writes = self.owner_moves.check_owner
        return accounts

    @cached_property
    def agents(self) -> Agents:
        agents = Agents(self.store, self.accounts, self.audit, self._on_write)
        agents.on_quotas = self._apply_quotas
        return agents

    @cached_property
    def credential_lookup(self) -> CredentialLookup:
        return CredentialLookup(self.store, self._clock, self.accounts, self.owner_moves)

    @cached_property
    def tokens(self) -> Tokens:
        tokens = Tokens(self.store, self._clock, self.accounts, self.audit, self.agents)
        tokens.check_access = self.owner_moves.check_access
        tokens.on_agent_revoked = self.approvals.pause_revoked
        return tokens

    @cached_property
    def sessions(self) -> Sessions:
        sessions = Sessions(self.store, self._clock, self.accounts, self.tokens, self.audit)
        sessions.check_access = self.owner_moves.check_access
        return sessions

    @cached_property
    def calendar_tokens(self) -> CalendarTokens:
        return CalendarTokens(self.store, self._clock, self.accounts, self.audit)

    @cached_property
    def views(self) -> Views:
        return Views(self.store)

    @cached_property
    def key_budget(self) -> KeyBudget:
        return KeyBudget(self.store, self._clock)

    @cached_property
    def agent_stop(self) -> AgentStop:
        tasks = StoppedTasks(self.store, self._clock, self._writer, self._approval_policy)
        return AgentStop(
            self.store, self._clock, runs=self.runs, tasks=tasks, audit=self.audit, on_write=self._on_write
        )

    @cached_property
    def approvals(self) -> Approvals:
        approvals = Approvals(
            self.store,
            self._clock,
            writer=self._writer,
            quota=self._quota,
            audit=self.audit,
            approval_policy=self._approval_policy,
            on_write=self._on_write,
        )
        approvals.on_agent_stopped = self.agent_stop.end_runs
        return approvals

    @cached_property
    def fire_rights(self) -> FireRights:
        return FireRights(self.store, self._approval_policy)

    @cached_property
    def quota_sweep(self) -> QuotaSweep:
        return QuotaSweep(self.store, self._clock, self.accounts, self.agents, self._on_write)

    @cached_property
    def daily_quota(self) -> DailyQuota:
        return DailyQuota(self.store, self.accounts, self.quota_sweep, StorageLimit(self._quota, self._output))

    @cached_property
    def event_encoder(self) -> EventEncoder:
        return EventEncoder(self.store)

    @cached_property
    def webhooks(self) -> Webhooks:
        client = WebhookClient(self.secrets, self._clock, self._networks)
        return Webhooks(self.store, client, self.audit, self._clock)

    @cached_property
    def destinations(self) -> Destinations:
        client = MessageClient(self.secrets, self._notifier, self._clock)
        return Destinations(self.store, client, self.audit, self._clock, self.zone)

    @cached_property
    def groups(self) -> Groups:
        groups = Groups(self.store, self.accounts, self.audit, self._clock, self._check_mounts)
        groups.on_switch = self.agent_stop.apply_group
        groups.on_node = self.group_nodes.apply
        return groups

    @cached_property
    def group_nodes(self) -> GroupNodes:
        return GroupNodes(
            self.store,
            self._clock,
            writer=self._writer,
            approval_policy=self._approval_policy,
            on_write=self._on_write,
        )

    @cached_property
    def budgets(self) -> Budgets:
        return Budgets(self.store, self.groups, self.audit, self._clock, self.zone)

    @cached_property
    def lineages(self) -> Lineages:
        return Lineages(self.store, self._clock)

    @cached_property
    def chats(self) -> Chats:
        return Chats(self.store, self.groups, self._clock, self._on_write, queue=self.deliveries.queue)

    @cached_property
    def deliveries(self) -> Deliveries:
        return Deliveries(self.store, self.audit, self._clock, self._on_write)

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.store, self.audit, self._clock, self._on_write)

    @cached_property
    def plans(self) -> Plans:
        return Plans(self.store, self._clock, self.tasks, self._writer, self._on_write, self._plan_exec_timeout)

    @cached_property
    def stations(self) -> Stations:
        return Stations(self.store, self.audit, self._clock)

    @cached_property
    def dry_run(self) -> Service:
        """The same service as a dry run: it refuses what the real one would refuse, and writes nothing.

        It shares the measurements of stored bytes, since it stores none.
        """
        store = make_dry_run_store(self.store)
        return Service(
            store,
            self._clock,
            self.zone,
            self.secrets.with_records(store),
            check=self._check,
            member_quotas=self._member_quotas,
            networks=self._networks,
            notifier=self._notifier,
            approval_policy=self._approval_policy,
            output=self._output,
            examine=self._examine,
            check_mounts=self._check_mounts,
            plan_exec_timeout=self._plan_exec_timeout,
        )

    # --- use cases of several components ------------------------------------------------------------------------------------

    async def resolve(self, principal: Principal, request: TaskRequest) -> ResolvedRequest:
        """Apply the declaration of its function to a request, and return it with warnings."""
        principal.require_scope(Scope.WRITE)
        resolved = await self.functions.resolve(request)
        no_listener = await self._warn_no_listener(
            request.owner or principal.owner, "", request.target, request.options.notify
        )
        finished = await self._warn_finished(principal, predecessors_of(resolved.request.when))
        placement = await self._warn_missing_labels(tuple((resolved.request.options.where or {}).items()))
        no_listeners = () if no_listener is None else (no_listener,)
        no_group = await self._warn_no_group(request.target)
        warnings = (*literal_secrets(request.target), *placement, *no_listeners, *finished, *no_group)
        return resolved._replace(warnings=(*resolved.warnings, *warnings)) if warnings else resolved

    async def review(self, principal: Principal, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        """Return warnings about an edited task."""
        principal.require_scope(Scope.WRITE)
        task = done.after
        warnings = await self.functions.check_edits(task.target, task.payload, edits)
        warnings += await self._warn_finished(principal, sorted(links_of(task) - links_of(done.before)))
        if edits.options.where:
            warnings = (*warnings, *await self._warn_missing_labels(task.policies.where))
        if isinstance(edits.target, Keep):
            return warnings
        no_listener = await self._warn_no_listener(task.owner, task.id, task.target, task.policies.notify)
        return (*warnings, *literal_secrets(task.target), *(() if no_listener is None else (no_listener,)))

    async def _warn_finished(self, principal: Principal, predecessors: Sequence[str]) -> tuple[Advisory, ...]:
        """Return a warning for the first of these tasks that does not run by itself any more."""
        if not predecessors:
            return ()
        reader = principal._replace(scopes=principal.scopes | {Scope.READ})
        for name in predecessors:
            try:
                facts = await self.tasks.find_by_name(reader, name)
            except Refusal:
                # It is refused when the task is written, or made before that.
                continue
            if facts.status.state not in OPEN_STATES:
                state = facts.status.state.value
                english: dict[str, object] = {"name": facts.task.name, "state": state}
                chinese = {**english, "state": state_name(state, "zh")}
                return (build_bilingual_advisory("predecessor_finished", english, chinese),)
        return ()

    async def _warn_no_listener(
        self, owner: str, task_id: str, target: Target, notify: Notify | str | None
    ) -> Advisory | None:
        """Return a warning for an event target that no listener would receive now."""
        if target.kind != "event":
            return None
        reach = await self.listeners.reach(owner, task_id, topic_of(target))
        return None if reach.hears(target, notify) else build_advisory("no_listener")

    async def _warn_no_group(self, target: Target) -> tuple[Advisory, ...]:
        """Return a warning for a prompt to the agent of a group that is not registered."""
        owner = owner_of_prompt(target)
        folder = None if owner is None else folder_of_owner(owner)
        if folder is None or await self.groups.find(folder) is not None:
            return ()
        return (build_advisory("no_group", folder=folder),)

    async def _warn_missing_labels(self, where: LabelPairs) -> tuple[Advisory, ...]:
        """Return a warning if no running node has all labels that a task requires."""
        if not where:
            return ()
        now, lease = self._clock.now(), await load_agreed_lease(self.store)
        for node in await self.store.nodes():
            if now - node.renewed <= lease and has_labels(where, node.labels):
                return ()
        return (build_advisory("no_node_with_labels", labels=format_labels(where), options=label_options(where)),)

    async def _make_checks(self) -> tuple[Check, ...]:
        return () if self._examine is None else await self._examine(self)

    async def _check_durability(self) -> tuple[Check, ...]:
        return () if self._examine is None else await self._examine.durability()

    def note_write(self) -> None:
        """Wake what waits for writes, here and in other processes, after one that was made in the store itself."""
        self._on_write(None)

    def _on_write(self, due: datetime | None) -> None:
        self.planned.note_write()
        self._notify(due)

    async def _apply_quotas(self, owner: str) -> None:
        """Apply lowered quotas at once: to existing tasks, to the runs of this day and to stored bytes."""
        await self.quota_sweep.sweep(owner)
        await self.daily_quota.enforce_owner(owner, self._clock.now())
