"""Report of all checks that a server makes of itself."""

from __future__ import annotations

from ..model.accounts.principal import Principal
from ..ports.doctor import DoctorReport
from ..wire.doctor import read_report
from .connection import Connection
from .decode import decode_response


class RemoteDoctor:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def report(self, principal: Principal) -> DoctorReport:
        """Return the report; its sentences are in the language of the connection."""
        del principal
        return await decode_response(self._connection, read_report, await self._connection.get("/v1/doctor"))

    async def durability(self, principal: Principal) -> DoctorReport:
        """Return only what the server of the store can lose."""
        del principal
        response = await self._connection.get("/v1/doctor", (("only", "durability"),))
        return await decode_response(self._connection, read_report, response)
