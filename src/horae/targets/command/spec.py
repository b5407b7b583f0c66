"""A command as a task keeps it: checked to the last key when the task is made, and again before it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...model.accounts.protected_variables import is_reserved
from ...model.limits import PAYLOAD_BYTES
from ..secret_references import secret_name
from .programs import Programs
from .refusals import refuse
from .settings import VARIABLE, Settings, read_limits, read_number

KEYS: Final = ("argv", "directory", "environment", "stdin", "output", "limits", "success")
PAYLOAD: Final = "payload"
"""As `stdin`: the task's payload, as JSON."""

_MOST_ARGUMENTS: Final = 1_000
_ARGUMENT_BYTES: Final = 64 * 1024
_VARIABLE_BYTES: Final = 32 * 1024
_MOST_VARIABLES: Final = 100
_OUTPUT: Final = 65_536
_MOST_OUTPUT: Final = 4 * 1024 * 1024


def checked_spec(spec: Any, settings: Settings, programs: Programs) -> dict[str, Any]:
    """Complete and canonical. Raises a `Refusal`."""
    if not isinstance(spec, Mapping):
        raise refuse("command_spec", value=spec)
    for name in spec:
        if name not in KEYS:
            raise refuse("command_unknown_key", name=name, allowed=", ".join(KEYS))
    argv = _argv(spec.get("argv"))
    programs.check(argv[0])
    return {
        "argv": argv,
        "directory": _directory(spec.get("directory"), settings),
        "environment": _environment(_object("environment", spec.get("environment")), settings),
        "stdin": _stdin(spec.get("stdin")),
        "output": read_number("output", spec.get("output", _OUTPUT), 0, _MOST_OUTPUT),
        "limits": read_limits(_object("limits", spec.get("limits")), settings.limits),
        "success": _success(spec.get("success", [0])),
    }


def _object(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse("command_spec", value=f"{name}: {value}")
    return value


def _argv(value: Any) -> list[str]:
    if isinstance(value, str):
        raise refuse("command_shell", value=value)
    words = list(value) if isinstance(value, list | tuple) else []
    if any(isinstance(word, Mapping) for word in words):
        raise refuse("command_secret_in_argv")
    if not 1 <= len(words) <= _MOST_ARGUMENTS or not all(_is_text(word, _ARGUMENT_BYTES) for word in words):
        raise refuse("command_argv", value=value, most=_MOST_ARGUMENTS, bytes=_ARGUMENT_BYTES)
    if not _names_a_program(words[0]) or sum(len(word.encode()) for word in words) > _ARGUMENT_BYTES:
        raise refuse("command_argv", value=value, most=_MOST_ARGUMENTS, bytes=_ARGUMENT_BYTES)
    return words


def _names_a_program(word: str) -> bool:
    """Never by a relative path: that would be another program in each directory."""
    return bool(word) and not word.endswith("/") and ("/" not in word or word.startswith("/"))


def _is_text(value: Any, most: int) -> bool:
    """Something that a program can be given: no NUL, no halves of characters."""
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return False
    try:
        return len(value.encode()) <= most
    except UnicodeEncodeError:
        return False


def _directory(value: Any, settings: Settings) -> str | None:
    if value is None:
        return None
    if not _is_text(value, 4_096) or not value or settings.directory is None:
        raise refuse("command_directory", value=value)
    if not _is_inside(os.path.normpath(Path(settings.directory, value)), settings.directory):
        raise refuse("command_directory", value=value)
    return str(value)


def real_directory(value: str | None, settings: Settings) -> str | None:
    """Where a command runs; None: in a private folder. Links are followed before it is looked where they lead."""
    if settings.directory is None:
        return None
    real = os.path.realpath(Path(settings.directory, value or "."))
    if not _is_inside(real, os.path.realpath(settings.directory)):
        raise refuse("command_directory", value=value)
    return real


def _is_inside(path: str, folder: str) -> bool:
    folder = os.path.normpath(folder)
    return os.path.commonpath((path, folder)) == folder


def _environment(value: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    if len(value) > _MOST_VARIABLES:
        raise refuse("command_number", name="environment", value=len(value), least=0, most=_MOST_VARIABLES)
    return {name: _variable(name, value[name], settings) for name in sorted(value, key=str)}


def _variable(name: Any, value: Any, settings: Settings) -> Any:
    if not isinstance(name, str) or not VARIABLE.fullmatch(name):
        raise refuse("command_variable", name=name)
    if is_reserved(name) and name not in settings.variables:
        raise refuse("command_variable_reserved", name=name)
    secret = secret_name(value)
    if secret is not None:
        return {"secret": secret}
    if not _is_text(value, _VARIABLE_BYTES):
        raise refuse("command_variable", name=name)
    return value


def _stdin(value: Any) -> Any:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        fits = len(text.encode()) <= PAYLOAD_BYTES
        plain = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise refuse("command_stdin", value=value, most=PAYLOAD_BYTES) from None
    if not fits:
        raise refuse("command_stdin", value=value, most=PAYLOAD_BYTES)
    return plain


def _success(value: Any) -> list[int]:
    codes = value if isinstance(value, list | tuple) and value else (None,)
    if not all(isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= 255 for code in codes):
        raise refuse("command_success", value=value)
    return sorted(set(codes))
