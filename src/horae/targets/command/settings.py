"""Operator settings for commands: allowed programs, directory, grace period, resource limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...model.accounts.protected_variables import is_set_by_horae
from ..setting_names import COMMAND
from .refusals import refuse

DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ANY_PROGRAM: Final = "*"
VARIABLE_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
LIMIT_RANGES: Final = {
    "memory": (16 * 1024**2, 2**50),
    "cpu": (1, 30 * 24 * 60 * 60),
    "files": (8, 2**20),
    "processes": (1, 2**22),
    "file_size": (0, 2**50),
}
"""Least and greatest sensible value of each resource limit."""

_DEFAULT_GRACE: Final = 3.0
_MAX_GRACE: Final = 60


class CommandSettings(NamedTuple):
    """`limits` are the defaults of a command, and the greatest values that a task may choose."""

    allow: tuple[str, ...] = ()
    path: str = DEFAULT_PATH
    directory: str | None = None
    grace: float = _DEFAULT_GRACE
    limits: Mapping[str, int] = {}
    variables: tuple[str, ...] = ()
    """Reserved environment variables that tasks may set all the same."""


def read_settings(settings: Mapping[str, Any]) -> CommandSettings:
    """Check and convert the settings; None counts as not set. Raises a `Refusal`."""
    return CommandSettings(**{name: _reader(name)(value) for name, value in settings.items() if value is not None})


def _reader(name: str) -> Any:
    if name not in _READERS:
        raise refuse("command_setting", name=name, value="…", wanted=f"one of {', '.join(_READERS)}")
    return _READERS[name]


def _split_list(value: Any) -> Any:
    """Split comma-separated text, as environment variables hold it; other values are returned unchanged."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


def _variables(value: Any) -> tuple[str, ...]:
    names = _split_list(value)
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) and _can_be_allowed(name) for name in names
    ):
        wanted = "a list of names of variables, none of them PATH or HORAE_…"
        raise refuse("command_setting", name="variables", value=value, wanted=wanted)
    return tuple(names)


def _can_be_allowed(name: str) -> bool:
    return VARIABLE_PATTERN.fullmatch(name) is not None and not is_set_by_horae(name)


def _allow(value: Any) -> tuple[str, ...]:
    names = _split_list(value)
    wanted = "a list of program names and absolute paths, or '*'"
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and _is_program(name) for name in names):
        raise refuse("command_setting", name="allow", value=value, wanted=wanted)
    return tuple(names)


def _is_program(name: str) -> bool:
    """Whether it is a name or an absolute path; a relative path would be another program in each directory."""
    return bool(name) and "\0" not in name and ("/" not in name or name.startswith("/"))


def _path(value: Any) -> str:
    folders = value.split(":") if isinstance(value, str) else ()
    if not folders or "\0" in value or not all(folder.startswith("/") for folder in folders):
        raise refuse("command_setting", name="path", value=value, wanted="absolute folders with ':' between them")
    return str(value)


def _directory(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        raise refuse("command_setting", name="directory", value=value, wanted="an absolute path")
    return value


def _grace(value: Any) -> float:
    try:
        seconds = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= _MAX_GRACE:
        raise refuse("command_setting", name="grace", value=value, wanted=f"seconds, from 0 to {_MAX_GRACE}")
    return seconds


def _limits(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise refuse(
            "command_setting", name="limits", value=value, wanted=f"some of {', '.join(LIMIT_RANGES)}, as numbers"
        )
    return read_limits(value, {})


def read_limits(value: Mapping[str, Any], maximum: Mapping[str, int]) -> dict[str, int]:
    """Return the given limits, each checked against its sensible range and the operator's maximum."""
    for name in value:
        if name not in LIMIT_RANGES:
            raise refuse("command_unknown_key", name=f"limits.{name}", allowed=", ".join(LIMIT_RANGES))
    return {
        name: read_number(f"limits.{name}", value[name], least, min(greatest, maximum.get(name, greatest)))
        for name, (least, greatest) in LIMIT_RANGES.items()
        if name in value
    }


def read_number(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number within bounds; a bool is refused."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refuse("command_number", name=name, value=value, least=least, most=most)
    return value


_READERS: Final = dict(zip(COMMAND, (_allow, _path, _directory, _grace, _limits, _variables), strict=True))
