"""All use cases of a server, as a front end holds them: the same names as those of the service itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..clock import Clock
from .accounts import RemoteAccounts, RemoteAgents, RemoteAudit, RemoteTokens
from .approvals import RemoteApprovals
from .bulk import RemoteBulk
from .connection import Connection
from .decode import understood
from .overview import RemoteEvents, RemoteFunctions, RemoteLanes, RemoteNodes, RemoteOverviews, RemoteSecrets
from .runs import RemoteLedger, RemoteRuns
from .tasks import RemoteTasks
from .webhooks import RemoteWebhooks


class Self(NamedTuple):
    """Whom a server takes the bearer of this token for."""

    owner: str
    admin: bool
    scopes: tuple[str, ...]
    agent: str | None
    zone: str | None
    owner_zone: str | None = None
    """The zone of the owner's record; `zone` is the server's where the owner has none."""


class RemoteService:
    def __init__(self, connection: Connection, clock: Clock, zone: str) -> None:
        self.connection = connection
        self.tasks = RemoteTasks(connection, clock, zone)
        self.runs = RemoteRuns(connection)
        self.ledger = RemoteLedger(connection, self.tasks)
        self.overview = RemoteOverviews(connection)
        self.events = RemoteEvents(connection, clock)
        self.lanes = RemoteLanes(connection)
        self.functions = RemoteFunctions(connection)
        self.nodes = RemoteNodes(connection)
        self.bulk = RemoteBulk(connection, clock)
        self.secrets = RemoteSecrets(connection)
        self.accounts = RemoteAccounts(connection)
        self.agents = RemoteAgents(connection)
        self.tokens = RemoteTokens(connection)
        self.audit = RemoteAudit(connection)
        self.webhooks = RemoteWebhooks(connection)
        self.approvals = RemoteApprovals(connection)

    async def whoami(self) -> Self:
        return await understood(self.connection, _self, await self.connection.get("/v1/whoami"))

    async def has_engine(self) -> bool:
        """Whether the server says that something runs what is due."""
        said = await self.connection.state()
        return bool(said.get("parts", {}).get("engine", False))


def _self(said: Any) -> Self:
    return Self(
        said["owner"], said["admin"], tuple(said["scopes"]), said["agent"], said["zone"], said.get("owner_zone")
    )
