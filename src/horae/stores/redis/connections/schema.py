"""Version of the layout of the keys: written by the first store that is opened, and checked by all others."""

from __future__ import annotations

from typing import Final

from ...refusals import refuse
from ..transactions.runner import RedisTransactions
from .address import Address

SCHEMA: Final = 1


async def prepare_schema(database: RedisTransactions, address: Address) -> None:
    """Write the version if there is none; refuse a newer one."""
    found = await database.client.call("GET", database.keys.schema)
    if found is None:
        await database.client.call("SET", database.keys.schema, SCHEMA, "NX")
    elif int(found) > SCHEMA:
        raise refuse("store_newer", place=address.display_url, found=int(found), known=SCHEMA)
