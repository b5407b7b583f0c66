"""First connection to a Redis server: its version, its durability, and settings under which a store is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ....clock import Clock
from ....errors import StoreError, StoreUnavailable
from ...refusals import refuse
from ...sql.reads.status import PossibleLoss
from .address import Address
from .connection import RedisConnections
from .errors import refusal_for_first_connection

_MIN_VERSION: Final = (7, 0)
_STARTUP_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 0.25
_SETTINGS: Final = ("appendonly", "appendfsync", "maxmemory-policy")
_LOSS_OF_FSYNC: Final = {
    "always": PossibleLoss.NOTHING,
    "everysec": PossibleLoss.LAST_SECOND,
    "no": PossibleLoss.SINCE_SNAPSHOT,
}


class ServerFacts(NamedTuple):
    """`settings` are those of durability; one that cannot be read is missing."""

    kind: str
    version: str
    settings: Mapping[str, str]
    policy: str
    used_bytes: int
    replicas: int = 0
    """Number of replicas that are connected and up to date with the stream of writes."""

    @property
    def possible_loss(self) -> PossibleLoss:
        """What the server can lose when it is killed."""
        if self.settings.get("appendonly") == "no":
            return PossibleLoss.SINCE_SNAPSHOT
        return _LOSS_OF_FSYNC.get(self.settings.get("appendfsync", ""), PossibleLoss.UNKNOWN)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split(".")[:2] if part.isdecimal())


async def open_first(connections: RedisConnections, clock: Clock) -> ServerFacts:
    """Connect for the first time and check the server; errors become refusals that name the problem.

    A server that is loading its data is waited for, for a short time, and so are replicas, which join again after a failover.
    """
    deadline = clock.steady() + _STARTUP_SECONDS
    facts = await _read_with_retries(connections, clock)
    while facts.replicas < connections.address.wait_replicas and clock.steady() < deadline:
        await clock.pause(_RETRY_SECONDS)
        facts = await _read_with_retries(connections, clock)
    _check(facts, connections.address)
    return facts


async def _read_with_retries(connections: RedisConnections, clock: Clock) -> ServerFacts:
    deadline = clock.steady() + _STARTUP_SECONDS
    while True:
        try:
            return await read_server(connections)
        except (StoreError, OSError, ValueError) as error:
            cause = (error.__cause__ or error) if isinstance(error, StoreError) else error
            if not _is_starting(cause) or clock.steady() > deadline:
                raise refusal_for_first_connection(cause, connections.address) or error from error
        await clock.pause(_RETRY_SECONDS)


def _is_starting(error: BaseException) -> bool:
    from redis.exceptions import BusyLoadingError  # noqa: PLC0415 - an optional dependency

    return isinstance(error, BusyLoadingError)


def _check(facts: ServerFacts, address: Address) -> None:
    if facts.numbers < _MIN_VERSION:
        found, wanted = f"{facts.kind} {facts.version}", "Redis 7.0 or Valkey 7.2"
        raise refuse("store_server_too_old", place=address.display_url, found=found, wanted=wanted)
    if facts.policy not in ("", "noeviction"):
        raise refuse("store_evicts", place=address.display_url, policy=facts.policy)
    if facts.replicas < address.wait_replicas:
        raise refuse(
            "store_replicas_missing", place=address.display_url, found=facts.replicas, wanted=address.wait_replicas
        )


async def read_server(connections: RedisConnections) -> ServerFacts:
    info: dict[str, Any] = {}
    for section in ("server", "persistence", "memory", "replication"):
        info |= await connections.call_server("INFO", section)
    settings = await _read_settings(connections)
    aof = "yes" if str(info.get("aof_enabled", "0")) == "1" else "no"
    policy = settings.pop("maxmemory-policy", None) or info.get("maxmemory_policy", "")
    kind, version = (
        ("Valkey", info["valkey_version"]) if "valkey_version" in info else ("Redis", info.get("redis_version", "0"))
    )
    return ServerFacts(
        kind,
        str(version),
        {"appendonly": aof, **settings},
        str(policy),
        int(info.get("used_memory", 0)),
        _count_replicas(info),
    )


def _count_replicas(info: Mapping[str, Any]) -> int:
    replicas = [info.get(f"slave{number}") for number in range(int(info.get("connected_slaves", 0)))]
    return sum(isinstance(each, dict) and each.get("state") == "online" for each in replicas)


async def _read_settings(connections: RedisConnections) -> dict[str, str]:
    """Read the settings; none where the command is renamed or denied, as with hosted servers."""
    settings: dict[str, str] = {}
    for name in _SETTINGS:
        try:
            settings |= await connections.call_server("CONFIG", "GET", name)
        except StoreUnavailable as error:
            if not _is_denied(error.__cause__):
                raise
        except StoreError:
            return {}
    return settings


def _is_denied(error: BaseException | None) -> bool:
    from redis.exceptions import NoPermissionError  # noqa: PLC0415 - an optional dependency

    return isinstance(error, NoPermissionError)
