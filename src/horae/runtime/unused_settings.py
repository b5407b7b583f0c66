"""What was said to nobody: variables that look like ours, and keys of targets, that nothing here reads.

None of it is an error, for other programs and other versions have names of their own; but whoever mistyped a name sees
nothing of what they wished for, and ought to be told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Final, NamedTuple

from ..settings import SETTINGS, Settings
from ..targets.setting_names import KEYS
from .target_kinds import ENTRY_POINTS, FUNCTION

_OURS: Final = "HORAE_"
_TARGETS: Final = "targets"
_BESIDE_SETTINGS: Final = (
    # Where a command goes, and what opens it.
    "HORAE_SERVER",
    "HORAE_TOKEN_FILE",
    # What units of systemd add to the command line.
    "HORAE_OPTIONS",
    # What every command that is run as a target is given.
    "HORAE_TASK_ID",
    "HORAE_RUN_ID",
    "HORAE_KEY",
    "HORAE_TRACE",
    "HORAE_PLANNED",
    "HORAE_ATTEMPT",
)
VARIABLES: Final = frozenset(
    {*(name for setting in SETTINGS for name in setting.variables if name.startswith(_OURS)), *_BESIDE_SETTINGS}
)


class Unheard(NamedTuple):
    """`place` is the file that said it, or nothing for a variable; `nearest` the name that was probably meant."""

    name: str
    place: str
    nearest: str | None


def unheard(settings: Settings, environment: Mapping[str, str]) -> tuple[Unheard, ...]:
    return (*_variables(environment), *_keys(settings))


def _variables(environment: Mapping[str, str]) -> Iterator[Unheard]:
    for name in sorted(environment):
        if name.startswith(_OURS) and name not in VARIABLES:
            yield Unheard(name, "", _near(name, _OURS, VARIABLES))


def _keys(settings: Settings) -> Iterator[Unheard]:
    """Kinds of other packages know their own keys."""
    theirs = {FUNCTION, *(each.name for each in entry_points(group=ENTRY_POINTS))}
    for path, chosen in settings.chosen.items():
        first, _, rest = path.partition(".")
        kind, _, key = rest.partition(".")
        if first != _TARGETS or kind in theirs:
            continue
        if kind not in KEYS:
            near = _near(kind, "", KEYS)
            yield Unheard(path, chosen.origin, None if near is None else f"{_TARGETS}.{near}.{key}")
        elif key not in KEYS[kind]:
            yield Unheard(path, chosen.origin, _near(path, f"{_TARGETS}.{kind}.", _paths(kind)))


def _paths(kind: str) -> tuple[str, ...]:
    return tuple(f"{_TARGETS}.{kind}.{key}" for key in KEYS[kind])


def _near(name: str, common: str, known: Collection[str]) -> str | None:
    """What all of them begin with makes none of them any nearer."""
    near = get_close_matches(name.removeprefix(common), sorted(each.removeprefix(common) for each in known), 1)
    return f"{common}{near[0]}" if near else None
