"""Settings of agents and stations with the defaults that follow from the store of the deployment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...stations.keys import SERVER_KEY_FILE
from ...stations.refusals import refuse
from ...stations.settings import read_settings
from ..stores import MEMORY, is_on_server, sqlite_path

AGENT: Final = "agent"
STATION: Final = "station"
_FOLDER: Final = "agents"
STATION_FOLDER: Final = "stations"


def with_agent_defaults(settings: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return the table `[targets.agent]` with its directory: by default `agents` beside the SQLite file of the store."""
    return _with_directory(settings, url, _FOLDER)


def with_station_defaults(settings: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return the table `[targets.station]` with the directory of its keys: by default `stations` beside the SQLite file."""
    return _with_directory(settings, url, STATION_FOLDER)


def station_key_path(settings: Mapping[str, Any], url: str) -> Path:
    """Return the file of the node's key for stations; refuses where the store has no place on this machine."""
    directory = with_station_defaults(settings, url).get("directory")
    if directory is None:
        raise refuse("station_directory_missing")
    return Path(directory) / SERVER_KEY_FILE


def check_station_settings(settings: Mapping[str, Any], url: str) -> None:
    """Refuse settings with which no station could join, before a node starts."""
    if not read_settings(with_station_defaults(settings, url)).plain:
        station_key_path(settings, url)


def _with_directory(settings: Mapping[str, Any], url: str, folder: str) -> dict[str, Any]:
    if settings.get("directory") is not None or url == MEMORY or is_on_server(url):
        return dict(settings)
    path = sqlite_path(url)
    return dict(settings) if path is None else {**settings, "directory": str(Path(path).resolve().parent / folder)}
