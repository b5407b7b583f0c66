"""Upgrade check: a migration that renames tables is refused while a node of an older version holds a lease.

A live node is recognised by the instant of its last heartbeat, on the clock to which nodes correct theirs. A wrong answer
loses nothing: the statements of an older version fail on renamed tables, and a refused upgrade changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..model.ids import from_microseconds
from ..ports.node_records import LEASE_RECORD_KEY, parse_lease
from ..ports.records import Record
from ..ports.store import DEFAULT_TERMS
from .refusals import refuse

_REQUIREMENT: Final = "-- requires: stopped nodes\n"


def requires_stopped_nodes(script: str) -> bool:
    """Whether a migration declares in its first line that no node may be running."""
    return script.startswith(_REQUIREMENT)


def refuse_live_nodes(place: str, nodes: Iterable[tuple[str, str, int]], lease_body: str | None, now: datetime) -> None:
    """Raise `store_nodes_running` if one of the nodes, as (id, version, last renewal in microseconds), holds a lease.

    `lease_body` is the record of the agreed lease, None where no node has ever joined. Every node in a store of an
    older schema is of an older version: a newer one upgrades the store before it joins.
    """
    lease = DEFAULT_TERMS.lease if lease_body is None else parse_lease(Record(*LEASE_RECORD_KEY, "", lease_body))
    live = [f"{node} ({version})" for node, version, renewed in nodes if from_microseconds(renewed) > now - lease]
    if live:
        raise refuse("store_nodes_running", place=place, names=", ".join(sorted(live)), lease=lease)


LEASE_RECORD_FILTER: Final = "kind = '{}' AND {{key}} = '{}'".format(*LEASE_RECORD_KEY)
"""SQL condition on the record of the agreed lease; `{key}` stands for the name of the key column."""
