"""Composition root: builds the service of an opened store from the settings, for every process, and opens the targets of a node."""

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
from .encryption_key import cipher_for_store
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
    """Build the service; `kinds` has the settings and checks the targets of new tasks; `on_write` follows each write."""
    settings = kinds.settings
    return Service(
        store,
        clock,
        zone,
        SecretVault(store, cipher_for_store(url, settings.value("key_file")), clock),
        check=kinds.check,
        on_write=on_write,
        networks=read_networks(settings.value("outgoing_networks")),
        member_quotas=read_default_quotas(settings),
        approval_policy=ApprovalPolicy(frozenset(settings.value("agent_functions") or ())),
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
