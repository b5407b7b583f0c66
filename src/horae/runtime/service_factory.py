"""Builds the service of an opened store, with its secrets, quotas and target kinds, and opens the targets of a node."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from ..clock import Clock
from ..outgoing.addresses import read_networks
from ..ports.full_store import FullStore
from ..ports.records import Record, Records
from ..ports.target import TargetKind, Tools
from ..service.accounts.approval_policy import ApprovalPolicy
from ..service.accounts.secrets import SecretVault
from ..service.service import Service
from .default_quotas import read_default_quotas
from .encryption_key import make_sealing
from .target_kinds import TargetKinds, open_all

_CALLBACK_KEY: Final = "callback_key"
_KEY_RECORD: Final = ("callback", "key")


def make_service(
    url: str,
    store: FullStore,
    clock: Clock,
    zone: str | None,
    kinds: TargetKinds,
    on_write: Callable[[datetime | None], None] = lambda _due: None,
) -> Service:
    secrets = SecretVault(store, make_sealing(url, kinds.settings.value("key_file")), clock)
    networks = read_networks(kinds.settings.value("outgoing_networks"))
    members = read_default_quotas(kinds.settings)
    gate = ApprovalPolicy(frozenset(kinds.settings.value("agent_functions") or ()))
    return Service(
        store,
        clock,
        zone,
        secrets,
        check=kinds.check,
        on_write=on_write,
        networks=networks,
        member_quotas=members,
        approval_policy=gate,
    )


async def open_targets(
    service: Service, clock: Clock, kinds: TargetKinds, publish: Callable[[str, Mapping[str, Any]], int | None]
) -> dict[str, Any]:
    """Open every target kind; return by name the target, or the refusal that says why it does not work here."""
    key = await callback_key(service.store) if kinds.settings_of("http").get("callback_url") else None

    async def reach(owner: str, task_id: str, topic: str) -> Mapping[str, int]:
        listeners = await service.listeners.reach(owner, task_id, topic)
        return {"streams": listeners.streams, "webhooks": listeners.webhooks, "terminals": listeners.terminals}

    def open_one(name: str, kind: TargetKind) -> Any:
        settings = kinds.settings_of(name)
        if name == "http" and key is not None:
            # The API verifies callbacks with the deployment's key: tokens must be made with the same one.
            settings = {**settings, _CALLBACK_KEY: key}
        return kind.open(Tools(clock, service.secrets, settings, publish, reach))

    return dict(open_all(kinds, open_one))


async def callback_key(records: Records) -> str:
    """Return the key of callback tokens, shared by all nodes; created on first use."""
    while (record := await records.get_record(*_KEY_RECORD)) is None:
        # Of several processes that create it at once, the first write wins.
        await records.put_record(Record(*_KEY_RECORD, "", json.dumps(token_hex(32))), replacing=None)
    return str(json.loads(record.body))
