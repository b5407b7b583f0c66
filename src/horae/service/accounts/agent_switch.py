"""Switch for all agents: a record that survives restarts. While it is set, no run of an agent starts."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...model.accounts.principal import LOCAL_OWNER
from ...model.record import Record
from ...ports.records import Records

SWITCH_KIND: Final = "agent.switch"
_KEY: Final = "all"


class Switch(NamedTuple):
    """Since when all agents are stopped, and by which owner."""

    since: datetime
    by: str
    version: int = 1


async def load_switch(records: Records) -> Switch | None:
    """Return the switch; None: agents may run."""
    record = await records.get_record(SWITCH_KIND, _KEY)
    if record is None:
        return None
    body: dict[str, Any] = json.loads(record.body)
    return Switch(datetime.fromisoformat(body["since"]), body["by"], record.version)


def switch_record(switch: Switch) -> Record:
    body = json.dumps({"since": switch.since.isoformat(), "by": switch.by}, ensure_ascii=False)
    return Record(SWITCH_KIND, _KEY, LOCAL_OWNER, body, switch.version)
