"""All use cases of a server under the same names as those of the local service."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..clock import Clock
from .accounts import (
    RemoteAccounts,
    RemoteAgents,
    RemoteApprovals,
    RemoteAudit,
    RemoteSessions,
    RemoteTokens,
    RemoteViews,
)
from .agent_safety import RemoteAgentStop, RemoteBudgets
from .bulk import RemoteBulk, RemoteOperations
from .connection import Connection
from .decode import decode_response
from .deliveries import RemoteDeliveries
from .destinations import RemoteDestinations
from .events import RemoteEvents
from .groups import RemoteGroups
from .nodes import RemoteDoctor, RemoteLanes, RemoteNodes, RemoteOverviews
from .plans import RemotePlans
from .runs import RemoteExplanations, RemoteFailures, RemotePlannedRuns, RemoteRuns
from .secrets import RemoteSecrets
from .stations import RemoteStations
from .streams import RemoteStreams
from .tasks import RemoteFunctions, RemoteTasks
from .webhooks import RemoteWebhooks


class TokenIdentity(NamedTuple):
    """Identity that the server derives from this token."""

    owner: str
    admin: bool
    scopes: tuple[str, ...]
    agent: str | None
    zone: str | None
    owner_zone: str | None = None
    """Zone of the owner's record; `zone` falls back to the server's zone."""


class RemoteService:
    def __init__(self, connection: Connection, clock: Clock, zone: str) -> None:
        self.connection = connection
        self.tasks = RemoteTasks(connection, clock, zone)
        self.runs = RemoteRuns(connection)
        self.failures = RemoteFailures(connection, self.runs)
        self.planned = RemotePlannedRuns(connection)
        self.explanations = RemoteExplanations(connection, self.tasks)
        self.overview = RemoteOverviews(connection)
        self.events = RemoteEvents(connection, clock)
        self.lanes = RemoteLanes(connection)
        self.functions = RemoteFunctions(connection)
        self.nodes = RemoteNodes(connection)
        self.doctor = RemoteDoctor(connection)
        self.bulk = RemoteBulk(connection, clock)
        self.operations = RemoteOperations(connection, clock)
        self.secrets = RemoteSecrets(connection)
        self.accounts = RemoteAccounts(connection)
        self.agents = RemoteAgents(connection)
        self.tokens = RemoteTokens(connection)
        self.sessions = RemoteSessions(connection)
        self.audit = RemoteAudit(connection)
        self.views = RemoteViews(connection)
        self.webhooks = RemoteWebhooks(connection)
        self.destinations = RemoteDestinations(connection)
        self.stations = RemoteStations(connection)
        self.groups = RemoteGroups(connection)
        self.streams = RemoteStreams(connection)
        self.budgets = RemoteBudgets(connection)
        self.agent_stop = RemoteAgentStop(connection)
        self.deliveries = RemoteDeliveries(connection)
        self.approvals = RemoteApprovals(connection)
        self.plans = RemotePlans(connection)

    async def whoami(self) -> TokenIdentity:
        return await decode_response(self.connection, _read_identity, await self.connection.get("/v1/whoami"))

    async def has_engine(self) -> bool:
        """Return whether the server reports a node that executes due tasks."""
        readiness = await self.connection.readiness()
        return bool(readiness.get("parts", {}).get("engine", False))


def _read_identity(value: Any) -> TokenIdentity:
    return TokenIdentity(
        value["owner"], value["admin"], tuple(value["scopes"]), value["agent"], value["zone"], value.get("owner_zone")
    )
