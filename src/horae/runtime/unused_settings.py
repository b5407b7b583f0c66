"""Finds settings that nothing reads (`HORAE_…` variables and target keys), with the nearest known name for each.

They are reported, not refused: other programs and versions have names of their own, but a mistyped name has no effect.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Final

from ..doctor.machine_checks import UnusedSetting
from ..settings import SETTINGS, Settings
from ..targets.setting_names import SETTING_NAMES
from .target_kinds import ENTRY_POINTS, FUNCTION

_PREFIX: Final = "HORAE_"
_TARGETS: Final = "targets"
_OTHER_VARIABLES: Final = (
    # The server that a command talks to, and its token.
    "HORAE_SERVER",
    "HORAE_TOKEN_FILE",
    # Options that systemd units add to the command line.
    "HORAE_OPTIONS",
    # Variables that Horae sets for command targets.
    "HORAE_TASK_ID",
    "HORAE_RUN_ID",
    "HORAE_KEY",
    "HORAE_TRACE",
    "HORAE_PLANNED",
    "HORAE_ATTEMPT",
    "HORAE_GATE",
    "HORAE_GATE_STATE",
    "HORAE_PREVIOUS",
    # The installation of an agent's process, set next to HORAE_RUN_ID.
    "HORAE_INSTALL",
    # Inside of an agent's sandbox.
    "HORAE_IS_MAIN",
    "HORAE_MODEL_SOCKET",
    # Read by stations: the nodes that they join, and where their own keys are.
    "HORAE_STATION_SERVERS",
    "HORAE_STATION_SERVER_KEY",
    "HORAE_STATION_KEYS",
)
KNOWN_VARIABLES: Final = frozenset(
    {*(name for setting in SETTINGS for name in setting.variables if name.startswith(_PREFIX)), *_OTHER_VARIABLES}
)


def find_unused_settings(settings: Settings, environment: Mapping[str, str]) -> tuple[UnusedSetting, ...]:
    """Return the unread variables and target keys."""
    return (*_unused_variables(environment), *_unused_keys(settings))


def _unused_variables(environment: Mapping[str, str]) -> Iterator[UnusedSetting]:
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in KNOWN_VARIABLES:
            yield UnusedSetting(name, "", _nearest(name, _PREFIX, KNOWN_VARIABLES))


def _unused_keys(settings: Settings) -> Iterator[UnusedSetting]:
    """Yield the unread target keys; those of plug-in kinds are not checked, since only the plug-in knows its keys."""
    plugins = {FUNCTION, *(each.name for each in entry_points(group=ENTRY_POINTS))}
    for path, chosen in settings.overrides.items():
        first, _, rest = path.partition(".")
        kind, _, key = rest.partition(".")
        if first != _TARGETS or kind in plugins:
            continue
        if kind not in SETTING_NAMES:
            near = _nearest(kind, "", SETTING_NAMES)
            yield UnusedSetting(path, chosen.origin, None if near is None else f"{_TARGETS}.{near}.{key}")
        elif key not in SETTING_NAMES[kind]:
            yield UnusedSetting(path, chosen.origin, _nearest(path, f"{_TARGETS}.{kind}.", _paths(kind)))


def _paths(kind: str) -> tuple[str, ...]:
    return tuple(f"{_TARGETS}.{kind}.{key}" for key in SETTING_NAMES[kind])


def _nearest(name: str, common: str, known: Collection[str]) -> str | None:
    """Return the closest known name; the common prefix is not compared, since it would make all names similar."""
    near = get_close_matches(name.removeprefix(common), sorted(each.removeprefix(common) for each in known), 1)
    return f"{common}{near[0]}" if near else None
