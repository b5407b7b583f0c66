"""The service of one opened store, with its secrets and its kinds of targets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from ..clock import Clock
from ..outgoing.addresses import read_networks
from ..ports.full_store import Keeping
from ..ports.records import Record, Records
from ..ports.target import TargetKind, Tools
from ..service.accounts.approval_policy import Gate
from ..service.accounts.secrets import SecretBox
from ..service.service import Service
from .default_quotas import usual_quotas
from .encryption_key import sealing_of
from .target_kinds import Kinds, usable

_CALLBACK_KEY: Final = "callback_key"
_KEPT: Final = ("callback", "key")


def make_service(
    url: str,
    store: Keeping,
    clock: Clock,
    zone: str | None,
    kinds: Kinds,
    told: Callable[[datetime | None], None] = lambda _due: None,
) -> Service:
    secrets = SecretBox(store, sealing_of(url, kinds.settings.value("key_file")), clock)
    networks = read_networks(kinds.settings.value("outgoing_networks"))
    members = usual_quotas(kinds.settings)
    gate = Gate(frozenset(kinds.settings.value("agent_functions") or ()))
    return Service(
        store, clock, zone, secrets, check=kinds.check, told=told, networks=networks, members=members, gate=gate
    )


async def open_targets(
    service: Service, clock: Clock, kinds: Kinds, publish: Callable[[str, Mapping[str, Any]], int | None]
) -> dict[str, Any]:
    """Every kind that works here, by name; for the others, the refusal that says why it does not."""
    key = await callback_key(service.store) if kinds.settings_of("http").get("callback_url") else None

    async def reach(owner: str, task_id: str, topic: str) -> Mapping[str, int]:
        found = await service.presence.reach(owner, task_id, topic)
        return {"streams": found.streams, "webhooks": found.webhooks, "terminals": found.terminals}

    def open_one(name: str, kind: TargetKind) -> Any:
        settings = kinds.settings_of(name)
        if name == "http" and key is not None:
            # Whoever takes the answers knows the key of the deployment alone: a token made with another opens nothing.
            settings = {**settings, _CALLBACK_KEY: key}
        return kind.open(Tools(clock, service.secrets, settings, publish, reach))

    return dict(usable(kinds, open_one))


async def callback_key(records: Records) -> str:
    """The key of the tokens that come back with answers; made when it is first needed, the same for all nodes."""
    while (found := await records.get_record(*_KEPT)) is None:
        # Of those who do this at the same time one is the first, and what that one wrote counts for all.
        await records.put_record(Record(*_KEPT, "", json.dumps(token_hex(32))), replacing=None)
    return str(json.loads(found.body))
