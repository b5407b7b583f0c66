"""Stores the nodes' allow-lists (networks, programs) as a record: front ends without a server check new tasks with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..outgoing.addresses import Networks, read_networks
from ..ports.records import Record, Records
from ..settings import Settings, SettingValue

_RECORD: Final = ("deployment", "allowed")
_ORIGIN: Final = "store"
_LISTS: Final = (
    "outgoing_networks",
    "targets.http.allow_networks",
    "targets.command.allow",
    "targets.command.variables",
)
_NETWORKS: Final = ("outgoing_networks", "targets.http.allow_networks")
_VALUES: Final = ("targets.command.directory", "targets.command.path", "targets.command.limits")


async def store_policy(records: Records, settings: Settings) -> None:
    """Store what this node allows. The node that started last decides for the deployment."""
    chosen = settings.overrides
    policy = {path: chosen[path].value for path in (*_LISTS, *_VALUES) if path in chosen}
    body = json.dumps(policy, sort_keys=True)
    while True:
        stored = await records.get_record(*_RECORD)
        if (policy == {} if stored is None else stored.body == body) or await records.put_record(
            Record(*_RECORD, "", body), replacing=None if stored is None else stored.version
        ):
            return


async def merge_policy(records: Records, settings: Settings) -> Settings:
    """Return these settings merged with the nodes' policy. A node checks again when it runs a task."""
    stored = await records.get_record(*_RECORD)
    return settings if stored is None else Settings({**settings.overrides, **_merge(settings, json.loads(stored.body))})


async def read_node_networks(records: Records) -> Networks:
    """Return the non-public networks that the node which started last allows to HTTP tasks."""
    stored = await records.get_record(*_RECORD)
    policy = {} if stored is None else json.loads(stored.body)
    return read_networks(network for path in _NETWORKS for network in _split_list(policy.get(path, ())))


def _merge(settings: Settings, policy: Mapping[str, Any]) -> dict[str, SettingValue]:
    """Return the settings that change: values that only the policy has, and lists extended by it."""
    own = settings.overrides
    merged = {path: SettingValue(policy[path], _ORIGIN) for path in _VALUES if path in policy and path not in own}
    for path in _LISTS:
        added = _split_list(policy.get(path, ()))
        if added:
            merged[path] = SettingValue((*_split_list(own[path].value if path in own else ()), *added), _ORIGIN)
    return merged


def _split_list(value: Any) -> tuple[Any, ...]:
    """Return a list setting as a tuple; it may be comma-separated text."""
    return tuple(part for part in value.split(",") if part.strip()) if isinstance(value, str) else tuple(value)
