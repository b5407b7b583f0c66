"""All service classes and their public methods: tests of rights and owners cover each of them."""

from __future__ import annotations

import inspect
from typing import Final

from horae.service.accounts.agents import Agents
from horae.service.accounts.approvals import Approvals
from horae.service.accounts.audit import Audit
from horae.service.accounts.calendar_tokens import CalendarTokens
from horae.service.accounts.credential_lookup import CredentialLookup
from horae.service.accounts.key_budget import KeyBudget
from horae.service.accounts.owners import Accounts
from horae.service.accounts.quota_sweep import QuotaSweep
from horae.service.accounts.secrets import SecretVault
from horae.service.accounts.sessions import Sessions
from horae.service.accounts.tokens import Tokens
from horae.service.accounts.views import Views
from horae.service.chats.chats import Chats
from horae.service.chats.deliveries import Deliveries
from horae.service.doctor import Doctor
from horae.service.events.destinations import Destinations
from horae.service.events.event_bodies import EventEncoder
from horae.service.events.listeners import ListenerRegistry
from horae.service.events.owner_sequence import Events
from horae.service.events.webhooks import Webhooks
from horae.service.groups.agent_stop import AgentStop
from horae.service.groups.budgets import Budgets
from horae.service.groups.group_nodes import GroupNodes
from horae.service.groups.groups import Groups
from horae.service.groups.lineages import Lineages
from horae.service.messages.streams import Streams
from horae.service.plans.plans import Plans
from horae.service.runs.daily_quota import DailyQuota
from horae.service.runs.explanations import Explanations
from horae.service.runs.failures import Failures
from horae.service.runs.fire_rights import FireRights
from horae.service.runs.lanes import Lanes
from horae.service.runs.nodes import Nodes
from horae.service.runs.outage_reviews import OutageReviews
from horae.service.runs.outages import Outages
from horae.service.runs.overview import Overviews
from horae.service.runs.planned import PlannedRuns
from horae.service.runs.runs import Runs
from horae.service.stations.stations import Stations
from horae.service.tasks.functions.declared_tasks import DeclaredTasks
from horae.service.tasks.functions.functions import Functions
from horae.service.tasks.operations.bulk import Bulk
from horae.service.tasks.operations.operations import Operations
from horae.service.tasks.tasks import SystemTasks, Tasks

SERVICES: Final = (
    Tasks,
    Runs,
    Explanations,
    Failures,
    Overviews,
    Events,
    Bulk,
    Operations,
    SystemTasks,
    DeclaredTasks,
    Functions,
    Outages,
    OutageReviews,
    ListenerRegistry,
    SecretVault,
    Lanes,
    Nodes,
    Accounts,
    CredentialLookup,
    Agents,
    Approvals,
    FireRights,
    QuotaSweep,
    Audit,
    DailyQuota,
    KeyBudget,
    EventEncoder,
    Tokens,
    Sessions,
    Webhooks,
    Destinations,
    Stations,
    Groups,
    Budgets,
    AgentStop,
    GroupNodes,
    Lineages,
    Streams,
    Chats,
    Deliveries,
    PlannedRuns,
    Plans,
    CalendarTokens,
    Views,
    Doctor,
)


def public_methods() -> set[tuple[type, str]]:
    return {
        (kind, name)
        for kind in SERVICES
        for name, found in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }
