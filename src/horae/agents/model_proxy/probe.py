"""Probe of the model endpoint of the settings: whether it answers, and accepts the key, without asking a model anything."""

from __future__ import annotations

import asyncio
import re
import socket
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from ...errors import HoraeError, Refusal
from ...outgoing.client import CONNECT_TIMEOUT, check_library
from ...ports.target import Secrets
from ..settings import AgentSettings
from .factory import read_model_endpoint
from .proxy import ModelEndpoint, connect_to
from .rules import request_headers

PROBE_SECONDS: Final = 5.0
ModelMind: TypeAlias = Literal["openai", "claude"]
_MIND: Final = re.compile(r"--mind[\s=]+(openai|claude)\b")
_MODELS: Final = "/v1/models"
_ANTHROPIC_VERSION: Final = "2023-06-01"
_FORBIDDEN: Final = frozenset({401, 403})
_SERVER_ERROR: Final = 500


class EndpointState(StrEnum):
    ANSWERS = "answers"
    KEY_REFUSED = "key_refused"
    FAILS = "fails"
    """It answers with an error of its own."""
    UNREACHABLE = "unreachable"
    MISSING = "missing"
    """The mind needs a model, and the settings name no way to one."""


class ProbeResult(NamedTuple):
    """`place` is the host, or the path of a socket. `problem` is the reason in a few words."""

    state: EndpointState
    place: str = ""
    problem: str = ""


def mind_of(settings: AgentSettings) -> ModelMind | None:
    """Return the mind that the program of the settings names, if it needs a model."""
    found = _MIND.search(" ".join(settings.program))
    return None if found is None else "claude" if found[1] == "claude" else "openai"


async def probe_model(settings: AgentSettings, secrets: Secrets) -> ProbeResult | None:
    """Ask the endpoint for its list of models; None where the settings have neither an endpoint nor a mind that needs one."""
    if settings.model_socket is not None:
        return await asyncio.to_thread(_probe_socket, settings.model_socket)
    mind = mind_of(settings)
    if settings.model_url is None:
        has_address = "--base-url" in " ".join(settings.program)
        return None if mind is None or has_address else ProbeResult(EndpointState.MISSING, mind)
    try:
        endpoint = read_model_endpoint(settings, secrets)
    except HoraeError as refusal:
        return ProbeResult(EndpointState.UNREACHABLE, settings.model_url, str(refusal))
    place = endpoint.url.host_and_port
    try:
        key = await endpoint.read_key()
    except Refusal as refusal:
        return ProbeResult(EndpointState.KEY_REFUSED, place, str(refusal))
    return await _probe_url(endpoint, key, is_claude=mind == "claude")


async def _probe_url(endpoint: ModelEndpoint, key: str, *, is_claude: bool) -> ProbeResult:
    check_library()
    from aiohttp import ClientError  # noqa: PLC0415 - an optional library

    from ...outgoing.session import open_session, system_lookup, to_unreachable  # noqa: PLC0415

    place = endpoint.url.host_and_port
    # Anthropic takes its key in another header than the endpoints of OpenAI's kind.
    given, form = ([("anthropic-version", _ANTHROPIC_VERSION)], "/v1/messages") if is_claude else ([], _MODELS)
    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            open_session(endpoint.allowed, system_lookup, CONNECT_TIMEOUT) as session,
            session.get(
                endpoint.url.text.rstrip("/") + _MODELS,
                headers=request_headers(given, form, key),
                allow_redirects=False,
            ) as response,
        ):
            status = response.status
    except TimeoutError:
        return ProbeResult(EndpointState.UNREACHABLE, place, f"no answer within {PROBE_SECONDS:g} s")
    except (ClientError, Refusal, OSError, ValueError) as error:
        return ProbeResult(EndpointState.UNREACHABLE, place, to_unreachable(error, place).message)
    if status in _FORBIDDEN:
        return ProbeResult(EndpointState.KEY_REFUSED, place, f"status {status}")
    if status >= _SERVER_ERROR:
        return ProbeResult(EndpointState.FAILS, place, f"status {status}")
    # Some endpoints have no list of models: any other status shows that they answer.
    return ProbeResult(EndpointState.ANSWERS, place)


def _probe_socket(path: str) -> ProbeResult:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            connect_to(probe, Path(path))
        except OSError as error:
            return ProbeResult(EndpointState.UNREACHABLE, path, error.strerror or "no connection")
    return ProbeResult(EndpointState.ANSWERS, path)
