"""Model proxy of the settings, and the socket of a run as its sandbox sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import LOCAL_OWNER
from ...ports.runtime import ForwardedSocket
from ...ports.target import Secrets
from ..refusals import CATALOGUE
from ..settings import AgentSettings
from .proxy import ModelEndpoint, ModelProxy, read_endpoint
from .usage import RunUsage

_FOLDER: Final = "model"


class ModelAccess(NamedTuple):
    """`usage` is what went through the proxy; it grows while the run is live."""

    socket: ForwardedSocket
    usage: RunUsage


def make_model_proxy(settings: AgentSettings, secrets: Secrets, clock: Clock) -> ModelProxy | None:
    """Return the proxy, or None where the settings have no `model_url`."""
    if settings.model_url is None:
        return None
    return ModelProxy(read_model_endpoint(settings, secrets), settings.workspace.root / "host" / _FOLDER, clock)


def read_model_endpoint(settings: AgentSettings, secrets: Secrets) -> ModelEndpoint:
    """Return the endpoint of `model_url`, with a key that is read for each request."""

    async def read_key() -> str:
        if settings.model_key is None:
            return ""
        value = await secrets.reveal(LOCAL_OWNER, settings.model_key)
        if not value:
            raise CATALOGUE.refuse("agent_secret_missing", name=settings.model_key)
        return value.strip()

    return read_endpoint(
        settings.model_url or "", read_key, settings.models, settings.model_networks, settings.model_prices
    )


@asynccontextmanager
async def open_model_access(proxy: ModelProxy | None, run: str, target: str) -> AsyncIterator[ModelAccess | None]:
    """Open the socket of a run, at `target` in its sandbox."""
    if proxy is None:
        yield None
        return
    async with proxy.open_socket(run) as opened:
        yield ModelAccess(ForwardedSocket(str(opened.path.resolve()), target), opened.usage)
