"""Callbacks through which the processes of a node report to their front end; the command line prints them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol


class ApiReady(NamedTuple):
    """The API accepts requests at `url`; `first_token` is the token that this start has created.

    `console` is the address of the web console, where it is installed; `sign_in_link` opens it once without a token. `socket` is
    the path of its unix socket.
    """

    url: str
    store: str
    token_path: Path
    first_token: str | None
    console: str | None = None
    sign_in_link: str | None = None
    socket: str | None = None

    def __repr__(self) -> str:
        return f"ApiReady({self.url!r})"


class AgentsReady(NamedTuple):
    """The node runs agents by this runtime, receives the messages of these channels, and has these groups."""

    runtime: str
    channels: tuple[str, ...]
    groups: tuple[str, ...]


class NodeReports(Protocol):
    """Callbacks of an API process."""

    @property
    def shows_sign_in_link(self) -> bool:
        """Whether a one-time link reaches the person or program that started the node, and no log."""

    def on_api_ready(self, api: ApiReady) -> None: ...

    def on_store_lost(self, path: Path | None, at: datetime) -> None:
        """The file of the store was removed or replaced; the process stops now."""


class WorkerReports(NodeReports, Protocol):
    """Callbacks of a worker process, in the order of its life."""

    def on_agents(self, agents: AgentsReady) -> None:
        """The host of agents runs; called before `on_open`, where it was asked for."""

    async def on_open(self) -> None:
        """The engine runs; the supervisor does not count the worker as ready before this returns."""

    async def on_ready(self) -> None: ...

    async def watch(self) -> None:
        """Background loop while the worker runs; restarted after an error."""

    def on_drained(self) -> None: ...

    def on_stopping(self) -> None: ...

    def on_stopped(self) -> None: ...
