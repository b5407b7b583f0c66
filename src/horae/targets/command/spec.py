"""Validates the spec of a command target, when a task is created and again before each run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...model.accounts.protected_variables import is_reserved
from ...model.limits import LOG_BYTES, PAYLOAD_BYTES
from ..secret_references import secret_name
from .programs import Programs
from .refusals import refuse
from .settings import VARIABLE_PATTERN, CommandSettings, read_limits, read_number

KEYS: Final = ("argv", "directory", "environment", "stdin", "output", "limits", "success")
PAYLOAD: Final = "payload"
"""Value of `stdin` that stands for the task's payload, as JSON."""

_MAX_ARGUMENTS: Final = 1_000
_MAX_ARGUMENT_BYTES: Final = 64 * 1024
_MAX_VARIABLE_BYTES: Final = 32 * 1024
_MAX_VARIABLES: Final = 100
_DEFAULT_OUTPUT_BYTES: Final = 65_536
_MAX_OUTPUT_BYTES: Final = LOG_BYTES


def check_spec(spec: Any, settings: CommandSettings, programs: Programs) -> dict[str, Any]:
    """Return the complete, canonical spec. Raises a `Refusal`."""
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
        "output": read_number("output", spec.get("output", _DEFAULT_OUTPUT_BYTES), 0, _MAX_OUTPUT_BYTES),
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
    if not 1 <= len(words) <= _MAX_ARGUMENTS or not all(_is_text(word, _MAX_ARGUMENT_BYTES) for word in words):
        raise refuse("command_argv", value=value, most=_MAX_ARGUMENTS, bytes=_MAX_ARGUMENT_BYTES)
    if not _is_program_name(words[0]) or sum(len(word.encode()) for word in words) > _MAX_ARGUMENT_BYTES:
        raise refuse("command_argv", value=value, most=_MAX_ARGUMENTS, bytes=_MAX_ARGUMENT_BYTES)
    return words


def _is_program_name(word: str) -> bool:
    """Whether it is a name or an absolute path; a relative path would be another program in each directory."""
    return bool(word) and not word.endswith("/") and ("/" not in word or word.startswith("/"))


def _is_text(value: Any, most: int) -> bool:
    """Whether the value can be passed to a program: text without NUL and lone surrogates, at most so many bytes."""
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return False
    try:
        return len(value.encode()) <= most
    except UnicodeEncodeError:
        return False


def _directory(value: Any, settings: CommandSettings) -> str | None:
    if value is None:
        return None
    if not _is_text(value, 4_096) or not value or settings.directory is None:
        raise refuse("command_directory", value=value)
    if not _is_inside(os.path.normpath(Path(settings.directory, value)), settings.directory):
        raise refuse("command_directory", value=value)
    return str(value)


def resolve_directory(value: str | None, settings: CommandSettings) -> str | None:
    """Return the working directory; None for a private one. Links are resolved before the path is checked."""
    if settings.directory is None:
        return None
    real = os.path.realpath(Path(settings.directory, value or "."))
    if not _is_inside(real, os.path.realpath(settings.directory)):
        raise refuse("command_directory", value=value)
    return real


def _is_inside(path: str, folder: str) -> bool:
    folder = os.path.normpath(folder)
    return os.path.commonpath((path, folder)) == folder


def _environment(value: Mapping[str, Any], settings: CommandSettings) -> dict[str, Any]:
    if len(value) > _MAX_VARIABLES:
        raise refuse("command_number", name="environment", value=len(value), least=0, most=_MAX_VARIABLES)
    return {name: _variable(name, value[name], settings) for name in sorted(value, key=str)}


def _variable(name: Any, value: Any, settings: CommandSettings) -> Any:
    if not isinstance(name, str) or not VARIABLE_PATTERN.fullmatch(name):
        raise refuse("command_variable", name=name)
    if is_reserved(name) and name not in settings.variables:
        raise refuse("command_variable_reserved", name=name)
    secret = secret_name(value)
    if secret is not None:
        return {"secret": secret}
    if not _is_text(value, _MAX_VARIABLE_BYTES):
        raise refuse("command_variable", name=name)
    return value


def _stdin(value: Any) -> Any:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        fits = len(text.encode()) <= PAYLOAD_BYTES
        canonical = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise refuse("command_stdin", value=value, most=PAYLOAD_BYTES) from None
    if not fits:
        raise refuse("command_stdin", value=value, most=PAYLOAD_BYTES)
    return canonical


def _success(value: Any) -> list[int]:
    codes = value if isinstance(value, list | tuple) and value else (None,)
    if not all(isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= 255 for code in codes):
        raise refuse("command_success", value=value)
    return sorted(set(codes))
