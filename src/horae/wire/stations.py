"""Stations to JSON and back: keys, and who has joined which node."""

from __future__ import annotations

from typing import Any

from ..model.stations.presence import StationPresence, WorkerPresence
from ..model.stations.station import Station, StationKey, StationKind
from ..service.stations.stations import StationStatus
from .instants import parse_instant, parse_optional_instant, utc


def station_json(status: StationStatus) -> dict[str, Any]:
    station = status.station
    return {
        "name": station.name,
        "owner": station.owner,
        "kind": station.kind.value,
        "keys": [{"key": each.key, "worker": each.worker} for each in station.keys],
        "nodes": [_presence_json(each) for each in status.presences],
        "created": utc(station.created),
        "version": station.version,
    }


def _presence_json(presence: StationPresence) -> dict[str, Any]:
    return {
        "node": presence.node,
        "waiting": presence.waiting,
        "at": utc(presence.at),
        "workers": [
            {
                "name": each.name,
                "slots": each.slots,
                "calls": each.calls,
                "answered": each.answered,
                "joined": utc(each.joined),
                "seen": utc(each.seen),
                "last_status": each.last_status,
                "last_answer": utc(each.last_answer),
            }
            for each in presence.workers
        ],
    }


def read_station(value: Any) -> StationStatus:
    station = Station(
        value["owner"],
        value["name"],
        StationKind(value["kind"]),
        tuple(StationKey(each["key"], each["worker"]) for each in value["keys"]),
        parse_instant(value["created"]),
        value["version"],
    )
    presences = tuple(
        StationPresence(
            station.owner,
            station.name,
            each["node"],
            tuple(_read_worker(worker) for worker in each["workers"]),
            each["waiting"],
            parse_instant(each["at"]),
        )
        for each in value["nodes"]
    )
    return StationStatus(station, presences)


def _read_worker(value: Any) -> WorkerPresence:
    return WorkerPresence(
        value["name"],
        value["slots"],
        value["calls"],
        value["answered"],
        parse_instant(value["joined"]),
        parse_instant(value["seen"]),
        value["last_status"],
        parse_optional_instant(value["last_answer"]),
    )
