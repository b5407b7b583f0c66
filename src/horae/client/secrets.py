"""Secrets of a server: set, list by name, remove, and grant to agents; values are never read back."""

from __future__ import annotations

from typing import Any

from ..model.accounts.principal import Principal
from ..model.page import Page
from ..service.accounts.secrets import SecretName
from ..wire.instants import parse_instant
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page


class RemoteSecrets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def set(self, principal: Principal, name: str, value: str, owner: str | None = None) -> SecretName:
        del principal
        response = await self._connection.put(
            f"/v1/secrets/{path_segment(name)}", {"value": value}, _owner_parameter(owner)
        )
        return await decode_response(self._connection, _read_secret, response)

    async def names(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[SecretName]:
        del principal
        return await fetch_page(self._connection, "/v1/secrets", _read_secret, _owner_parameter(owner), after, limit)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        del principal
        await self._connection.delete(f"/v1/secrets/{path_segment(name)}", _owner_parameter(owner))

    async def grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        del principal
        path = f"/v1/secrets/{path_segment(name)}/agents/{path_segment(agent)}"
        return await decode_response(
            self._connection, _read_secret, await self._connection.put(path, None, _owner_parameter(owner))
        )

    async def revoke_grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        del principal
        path = f"/v1/secrets/{path_segment(name)}/agents/{path_segment(agent)}"
        return await decode_response(
            self._connection, _read_secret, await self._connection.delete(path, _owner_parameter(owner))
        )


def _read_secret(value: Any) -> SecretName:
    return SecretName(value["name"], value["owner"], parse_instant(value["updated"]), tuple(value.get("agents", ())))


def _owner_parameter(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]
