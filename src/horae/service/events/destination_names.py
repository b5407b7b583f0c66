"""Check of the destinations that a task names: its owner must have them."""

from __future__ import annotations

from typing import Final

from ...errors import Refusal
from ...model.accounts.system_owner import account_of
from ...model.events.destination import DESTINATION_KIND, destination_key, is_destination_name
from ...model.policy import Notify
from ...ports.records import Records
from .refusals import refuse

_MAX_NAMES: Final = 20
"""Destinations that a refusal names."""


async def check_destinations(records: Records, owner: str, notify: Notify | None) -> None:
    """Refuse a policy that names a destination which the owner does not have; without a policy nothing is read."""
    owner = account_of(owner)
    for name in () if notify is None else notify.to:
        is_known = is_destination_name(name) and await records.get_record(
            DESTINATION_KIND, destination_key(owner, name), owner
        )
        if not is_known:
            raise await _refuse_unknown(records, owner, name)


async def _refuse_unknown(records: Records, owner: str, name: str) -> Refusal:
    page = await records.records(DESTINATION_KIND, owner, limit=_MAX_NAMES)
    names = ", ".join(record.key.rpartition("/")[2] for record in page.items)
    known = f"There are: {names}." if names else "There are none yet."
    known_zh = f"已有：{names}。" if names else "目前还没有目的地。"
    return refuse("unknown_destination", owner=owner, name=name, known=known, known_zh=known_zh)
