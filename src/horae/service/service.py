"""Composition of all use cases of one deployment into a `Service`, shared by all front ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property

from ..clock import Clock
from ..model.accounts.principal import MEMBER_QUOTAS, Principal, Quotas, Scope
from ..model.task import Target
from ..outgoing.addresses import Networks
from ..ports.full_store import FullStore
from .accounts.agents import Agents
from .accounts.approval_policy import STRICT_POLICY, ApprovalPolicy
from .accounts.approvals import Approvals
from .accounts.audit import Audit
from .accounts.key_budget import KeyBudget
from .accounts.owners import Accounts
from .accounts.quota_sweep import QuotaSweep
from .accounts.secrets import SecretVault
from .accounts.storage_limit import StorageLimit
from .accounts.stored_output import StoredOutput
from .accounts.tokens import Tokens
from .events.delivery import WebhookClient
from .events.event_bodies import EventEncoder
from .events.event_log import Events
from .events.listeners import ListenerRegistry, topic_of
from .events.webhooks import Webhooks
from .runs.daily_quota import DailyQuota
from .runs.fire_rights import FireRights
from .runs.lanes import Lanes
from .runs.ledger import Ledger
from .runs.nodes import Nodes
from .runs.outages import Outages
from .runs.overview import Overviews
from .runs.runs import Runs
from .tasks.advisories import Advisory, build_advisory
from .tasks.bulk import Bulk
from .tasks.commit import TaskWriter
from .tasks.declared_tasks import DeclaredTasks
from .tasks.dry_run import make_dry_run_store
from .tasks.edits import EditResult, Edits, Keep
from .tasks.functions import Functions, ResolvedRequest
from .tasks.literal_secrets import literal_secrets
from .tasks.operations import Operations
from .tasks.task_quota import TaskQuota
from .tasks.task_request import TaskRequest
from .tasks.tasks import Tasks


class Service:
    """`check` checks targets, and `on_write` is called after each write; both come from the composition root.

    `members` are the default quotas of owners, `networks` those that webhooks may reach besides public ones.
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
        approval_policy: ApprovalPolicy = STRICT_POLICY,
        output: StoredOutput | None = None,
    ) -> None:
        self.store = store
        self._clock = clock
        self.zone = zone
        self.secrets = secrets
        # A dry run stores nothing: it shares the measurements.
        output = output or StoredOutput(store, clock)
        self._with_store: Callable[[FullStore], Service] = lambda other: Service(
            other,
            clock,
            zone,
            secrets.with_records(other),
            check=check,
            member_quotas=member_quotas,
            networks=networks,
            approval_policy=approval_policy,
            output=output,
        )
        self.audit = Audit(store, clock)
        quota = TaskQuota(store, clock, member_quotas, output)
        writer = TaskWriter(store, quota, self.audit)
        self.functions = Functions(store, clock)
        self.listeners = ListenerRegistry(store, clock)
        self.tasks = Tasks(
            store,
            clock,
            zone,
            on_write,
            check=check,
            writer=writer,
            approval_policy=approval_policy,
            functions=self.functions,
        )
        self.runs = Runs(store, store, clock, on_write, writer, approval_policy=approval_policy)
        self.outages = Outages(store, store, clock)
        self.ledger = Ledger(store, clock, self.outages, self.functions)
        self.overview = Overviews(store, clock)
        self.events = Events(store)
        self.lanes = Lanes(store, clock, on_write)
        self.nodes = Nodes(store, clock, on_write)
        self.bulk = Bulk(self.tasks)
        self.operations = Operations(store, self.tasks, self.audit, clock)
        self.declared_tasks = DeclaredTasks(self.tasks, store, store, self.functions)
        self.accounts = Accounts(store, clock, self.audit, member_quotas=member_quotas, on_write=on_write)
        self.agents = Agents(store, self.accounts, self.audit, on_write)
        self.tokens = Tokens(store, clock, self.accounts, self.audit, self.agents)
        self.key_budget = KeyBudget(store, clock)
        self.approvals = Approvals(
            store,
            clock,
            writer=writer,
            quota=quota,
            audit=self.audit,
            approval_policy=approval_policy,
            on_write=on_write,
        )
        self.fire_rights = FireRights(store, approval_policy)
        self.quota_sweep = QuotaSweep(store, clock, self.accounts, self.agents, on_write)
        self.daily_quota = DailyQuota(store, self.accounts, self.quota_sweep, StorageLimit(quota, output))
        self.tokens.on_agent_revoked = self.approvals.pause_revoked
        self.accounts.on_quotas = self.agents.on_quotas = self._quotas_changed
        self.event_encoder = EventEncoder(store)
        self.webhooks = Webhooks(store, WebhookClient(secrets, clock, networks), self.audit, clock)

    async def resolve(self, principal: Principal, request: TaskRequest) -> ResolvedRequest:
        """Apply the declaration of its function to a request, and return it with warnings."""
        principal.require_scope(Scope.WRITE)
        resolved = await self.functions.resolve(request)
        no_listener = await self._warn_no_listener(request.owner or principal.owner, "", request.target)
        warnings = (*literal_secrets(request.target), *(() if no_listener is None else (no_listener,)))
        return resolved._replace(warnings=(*resolved.warnings, *warnings)) if warnings else resolved

    async def review(self, principal: Principal, done: EditResult, edits: Edits) -> tuple[Advisory, ...]:
        """Return warnings about an edited task."""
        principal.require_scope(Scope.WRITE)
        task = done.after
        warnings = await self.functions.check_edits(task.target, task.payload, edits)
        if isinstance(edits.target, Keep):
            return warnings
        no_listener = await self._warn_no_listener(task.owner, task.id, task.target)
        return (*warnings, *literal_secrets(task.target), *(() if no_listener is None else (no_listener,)))

    async def _warn_no_listener(self, owner: str, task_id: str, target: Target) -> Advisory | None:
        """Return a warning for an event target that no listener would receive now."""
        if target.kind != "event":
            return None
        reach = await self.listeners.reach(owner, task_id, topic_of(target))
        return None if reach.total else build_advisory("no_listener")

    @cached_property
    def dry_run(self) -> Service:
        """The same service as a dry run: it refuses what the real one would refuse, and writes nothing."""
        return self._with_store(make_dry_run_store(self.store))

    async def _quotas_changed(self, owner: str) -> None:
        """Apply lowered quotas at once: to existing tasks, to the runs of this day and to stored bytes."""
        await self.quota_sweep.sweep(owner)
        await self.daily_quota.enforce_owner(owner, self._clock.now())
