"""All use cases of one deployment, as a front end holds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property

from ..clock import Clock
from ..model.accounts.principal import MEMBER_QUOTAS, Principal, Quotas, Scope
from ..model.task import Target
from ..outgoing.addresses import Networks
from ..ports.full_store import Keeping
from .accounts.agents import Agents
from .accounts.approval_policy import STRICT, Gate
from .accounts.approvals import Approvals
from .accounts.audit import Audit
from .accounts.key_budget import KeyBudget
from .accounts.owners import Accounts
from .accounts.quota_sweep import QuotaSweep
from .accounts.secrets import SecretBox
from .accounts.tokens import Tokens
from .events.delivery import Postman
from .events.event_bodies import Telling
from .events.event_log import Events
from .events.listeners import Presence, topic_of
from .events.webhooks import Webhooks
from .runs.daily_quota import Daily
from .runs.fire_rights import FireRights
from .runs.lanes import Lanes
from .runs.ledger import Ledger
from .runs.nodes import Nodes
from .runs.outages import Outages
from .runs.overview import Overviews
from .runs.runs import Runs
from .tasks.advisories import Advisory, advise
from .tasks.bulk import Bulk
from .tasks.commit import Committing
from .tasks.declared_tasks import Code
from .tasks.dry_run import unwritten
from .tasks.edits import Edited, Edits, Keep
from .tasks.functions import Functions, Resolved
from .tasks.literal_secrets import literal_secrets
from .tasks.operations import Operations
from .tasks.task_quota import Seats
from .tasks.task_request import Wish
from .tasks.tasks import Tasks


class Service:
    """`check` looks at targets, `told` hears of every write; both belong to whoever composes this. `members` are the quotas
    of owners for whom nothing else was chosen, `networks` those that webhooks may lead to besides public ones."""

    def __init__(  # noqa: PLR0913 - what a deployment may choose, each by its name
        self,
        store: Keeping,
        clock: Clock,
        zone: str | None,
        secrets: SecretBox,
        *,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        told: Callable[[datetime | None], None] = lambda _due: None,
        members: Quotas = MEMBER_QUOTAS,
        networks: Networks = (),
        gate: Gate = STRICT,
    ) -> None:
        self.store = store
        self._clock = clock
        self.zone = zone
        self.secrets = secrets
        self._on: Callable[[Keeping], Service] = lambda other: Service(
            other, clock, zone, secrets.on(other), check=check, members=members, networks=networks, gate=gate
        )
        self.audit = Audit(store, clock)
        seats = Seats(store, clock, members)
        commit = Committing(store, seats, self.audit)
        self.functions = Functions(store, clock)
        self.presence = Presence(store, clock)
        self.tasks = Tasks(store, clock, zone, told, check=check, commit=commit, gate=gate, functions=self.functions)
        self.runs = Runs(store, store, clock, told, commit, gate=gate)
        self.outages = Outages(store, store, clock)
        self.ledger = Ledger(store, clock, self.outages, self.functions)
        self.overview = Overviews(store, clock)
        self.events = Events(store)
        self.lanes = Lanes(store, clock, told)
        self.nodes = Nodes(store, clock, told)
        self.bulk = Bulk(self.tasks)
        self.operations = Operations(store, self.tasks, self.audit, clock)
        self.code = Code(self.tasks, store, store, self.functions)
        self.accounts = Accounts(store, clock, self.audit, members=members, told=told)
        self.agents = Agents(store, self.accounts, self.audit, told)
        self.tokens = Tokens(store, clock, self.accounts, self.audit, self.agents)
        self.key_budget = KeyBudget(store, clock)
        self.approvals = Approvals(store, clock, commit=commit, seats=seats, audit=self.audit, gate=gate, told=told)
        self.fire_rights = FireRights(store, gate)
        self.sweeps = QuotaSweep(store, clock, self.accounts, self.agents, told)
        self.daily = Daily(store, self.accounts, self.sweeps)
        self.tokens.on_agent_revoked = self.approvals.pause_revoked
        self.accounts.on_quotas = self.agents.on_quotas = self._quotas_changed
        self.telling = Telling(store)
        self.webhooks = Webhooks(store, Postman(secrets, clock, networks), self.audit, clock)

    async def resolve(self, who: Principal, wish: Wish) -> Resolved:
        """The wish as its function's declaration completes it, with warnings about what it leads to."""
        who.must(Scope.WRITE)
        resolved = await self.functions.resolve(wish)
        heard = await self._heard(wish.owner or who.owner, "", wish.target)
        found = (*literal_secrets(wish.target), *(() if heard is None else (heard,)))
        return resolved._replace(warnings=(*resolved.warnings, *found)) if found else resolved

    async def review(self, who: Principal, done: Edited, edits: Edits) -> tuple[Advisory, ...]:
        """Warnings about a task that was edited."""
        who.must(Scope.WRITE)
        task = done.after
        found = await self.functions.check_edits(task.target, task.payload, edits)
        if isinstance(edits.target, Keep):
            return found
        heard = await self._heard(task.owner, task.id, task.target)
        return (*found, *literal_secrets(task.target), *(() if heard is None else (heard,)))

    async def _heard(self, owner: str, task_id: str, target: Target) -> Advisory | None:
        """A warning for an event that no listener would receive now."""
        if target.kind != "event":
            return None
        reach = await self.presence.reach(owner, task_id, topic_of(target))
        return None if reach.total else advise("no_listener")

    @cached_property
    def rehearsal(self) -> Service:
        """The same use cases on the same things: they refuse what they would refuse, and write nothing."""
        return self._on(unwritten(self.store))

    async def _quotas_changed(self, owner: str) -> None:
        """A lowered quota counts at once: for tasks that are there, and for the runs of this day."""
        await self.sweeps.sweep(owner)
        await self.daily.enforce_owner(owner, self._clock.now())
