"""Record of whether the process that delivers webhooks has the key to sign them: commands warn where it does not."""

from __future__ import annotations

import json
from typing import Final

from ...model.record import Record
from ...ports.records import Records

_RECORD: Final = ("deployment", "webhook_signer")
_TRIES: Final = 20


async def report_signer(records: Records, *, can_sign: bool) -> None:
    """Write down whether this process can sign. The one that started last speaks for the deployment."""
    body = json.dumps({"can_sign": can_sign})
    for _ in range(_TRIES):
        known = await records.get_record(*_RECORD)
        if can_sign if known is None else known.body == body:
            return  # without a report, the key is taken to be there
        version = None if known is None else known.version
        if await records.put_record(Record(*_RECORD, "", body), replacing=version):
            return


async def is_signer_without_key(records: Records) -> bool:
    known = await records.get_record(*_RECORD)
    return known is not None and not json.loads(known.body)["can_sign"]
