"""Reads runs, groups and lanes of an export, with a check of every field: the file may have been edited."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...app.horae import MAX_LANE_LIMIT
from ...interchange import AgentGroup, PastRun
from ...interchange.fields import read_folder, read_optional_text, read_required_text, refuse_field
from ...model.limits import KEY_CHARACTERS
from ...model.run import Origin, RunState
from .import_batch import ImportedRun

_MAX_ATTEMPTS: Final = 1_000
_MAX_DURATION_MS: Final = 100 * 366 * 24 * 60 * 60 * 1000
_GROUP: Final = frozenset(AgentGroup._fields)


def read_run(body: Mapping[str, Any], keys: Mapping[str, tuple[str | None, str]], source: str) -> ImportedRun:
    planned = read_instant(body, "planned")
    owner, key = keys.get(read_required_text(body, "task_id"), (None, ""))
    result, error = body.get("result"), body.get("error")
    if error is not None and not isinstance(error, str):
        raise refuse_field("error", error, "a text")
    past = PastRun(
        key,
        read_instant(body, "started") if body.get("started") else planned,
        _length(body.get("duration_ms")),
        RunState(_choice(body, "state", None, RunState)),
        None if result is None else json.dumps(result, ensure_ascii=False),
        error,
    )
    attempt = _integer("attempt", body.get("attempt", 1), 1, _MAX_ATTEMPTS)
    origin = Origin(_choice(body, "origin", Origin.SCHEDULED, Origin))
    return ImportedRun(key, past, planned, attempt, origin, owner, source)


def read_group(body: Mapping[str, Any]) -> AgentGroup:
    if unknown := body.keys() - _GROUP:
        raise refuse_field(min(unknown), body[min(unknown)], f"nothing; a group has {', '.join(AgentGroup._fields)}")
    config = body.get("config")
    if config is not None and not isinstance(config, dict):
        raise refuse_field("config", config, "an object")
    return AgentGroup(
        read_folder("folder", body.get("folder")),
        read_required_text(body, "jid"),
        read_required_text(body, "name"),
        read_optional_text(body, "trigger"),
        _flag(body, "requires_trigger", otherwise=True),
        _flag(body, "is_main", otherwise=False),
        read_optional_text(body, "added"),
        config,
    )


def read_lane(body: Mapping[str, Any]) -> tuple[str, int]:
    name = read_required_text(body, "name")
    if len(name) > KEY_CHARACTERS or not name.isprintable():
        raise refuse_field("name", name, f"at most {KEY_CHARACTERS} printable characters")
    return name, _integer("limit", body.get("limit"), 0, MAX_LANE_LIMIT)


def read_instant(body: Mapping[str, Any], key: str) -> datetime:
    """Read an instant; one without an offset is refused."""
    text = read_required_text(body, key)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise refuse_field(key, text, "an instant") from None
    if at.tzinfo is None:
        raise refuse_field(key, text, "an instant with a zone")
    return at


def _length(value: object) -> timedelta | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise refuse_field("duration_ms", value, "a number")
    if not 0 <= value <= _MAX_DURATION_MS:
        raise refuse_field("duration_ms", value, f"a number from 0 to {_MAX_DURATION_MS}")
    return timedelta(milliseconds=value)


def _integer(key: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise refuse_field(key, value, f"a whole number from {least} to {most}")
    return value


def _choice(body: Mapping[str, Any], key: str, otherwise: str | None, known: type[RunState | Origin]) -> str:
    value = body.get(key, otherwise)
    if not isinstance(value, str) or value not in {each.value for each in known}:
        raise refuse_field(key, value, f"one of {', '.join(each.value for each in known)}")
    return value


def _flag(body: Mapping[str, Any], key: str, *, otherwise: bool) -> bool:
    value = body.get(key, otherwise)
    if not isinstance(value, bool):
        raise refuse_field(key, value, "true or false")
    return value
