"""What the nodes of a deployment allow, kept in its store: front ends without a server check new tasks against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..outgoing.addresses import Networks, read_networks
from ..ports.records import Record, Records
from ..settings import Chosen, Settings

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


async def keep_policy(records: Records, settings: Settings) -> None:
    """Write down what this node allows. The node that started last speaks for the deployment."""
    chosen = settings.chosen
    said = {path: chosen[path].value for path in (*_LISTS, *_VALUES) if path in chosen}
    body = json.dumps(said, sort_keys=True)
    while True:
        known = await records.get_record(*_RECORD)
        if (said == {} if known is None else known.body == body) or await records.put_record(
            Record(*_RECORD, "", body), replacing=None if known is None else known.version
        ):
            return


async def with_policy(records: Records, settings: Settings) -> Settings:
    """These settings, and what the nodes of the store allow besides. A node decides again when it runs a task."""
    known = await records.get_record(*_RECORD)
    return settings if known is None else Settings({**settings.chosen, **_added(settings, json.loads(known.body))})


async def node_networks(records: Records) -> Networks:
    """Networks besides public ones that the node which started last allows to HTTP tasks."""
    known = await records.get_record(*_RECORD)
    said = {} if known is None else json.loads(known.body)
    return read_networks(network for path in _NETWORKS for network in _listed(said.get(path, ())))


def _added(settings: Settings, said: Mapping[str, Any]) -> dict[str, Chosen]:
    own = settings.chosen
    added = {path: Chosen(said[path], _ORIGIN) for path in _VALUES if path in said and path not in own}
    for path in _LISTS:
        more = _listed(said.get(path, ()))
        if more:
            added[path] = Chosen((*_listed(own[path].value if path in own else ()), *more), _ORIGIN)
    return added


def _listed(value: Any) -> tuple[Any, ...]:
    """A setting of targets may be one text with commas."""
    return tuple(part for part in value.split(",") if part.strip()) if isinstance(value, str) else tuple(value)
