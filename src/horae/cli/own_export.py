"""An export of our own, read line by line; a mistake in it refuses the whole file, with the place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ..errors import Refusal
from ..interchange import Found, Group, Harvest, Past
from ..interchange.json_text import read_json
from ..model.run import Origin, RunState
from ..schedule.durations import parse_duration
from ..wire.moments import utc
from ..wire.tasks import read_task
from .exporting import VERSION
from .incoming import Incoming, OldRun
from .operating_refusals import placed, refuse

_OVER: Final = ("completed", "cancelled")
_PAUSED: Final = ("paused", "failed")


def read_export(path: str, lines: Iterable[str], owner: str | None) -> Incoming:
    reading = _Reading(path, owner)
    for number, line in enumerate(lines, 1):
        if line.strip():
            _read_line(reading, number, line)
    return reading.done()


def _read_line(reading: _Reading, number: int, line: str) -> None:
    try:
        reading.take(number, read_json(line))
    except Refusal as refused:
        own = refused.code in ("bad_export", "newer_export")
        raise refused if own else placed(refused, f"line {number}", f"第 {number} 行") from None
    except (KeyError, TypeError, ValueError) as error:
        raise refuse("bad_export", path=reading.path, line=number, problem=repr(error)) from None


class _Reading:
    def __init__(self, path: str, owner: str | None) -> None:
        self.path = path
        self._owner = owner
        self._begun = False
        self._over = 0
        self._keys: dict[str, str] = {}
        self._found: list[Found] = []
        self._runs: list[OldRun] = []
        self._lanes: list[tuple[str, int]] = []
        self._groups: list[Group] = []

    def done(self) -> Incoming:
        harvest = Harvest(tuple(self._found), groups=tuple(self._groups))
        return Incoming(harvest, tuple(self._runs), tuple(self._lanes), self._over, exact=True)

    def take(self, number: int, value: Any) -> None:
        if not self._begun:
            _check_header(self.path, number, value)
            self._begun = True
            return
        name, body = _only(self.path, number, value)
        match name:
            case "task":
                self._task(number, body)
            case "run":
                self._runs.append(_run(body, self._keys))
            case "lane":
                self._lanes.append((str(body["name"]), int(body["limit"])))
            case "group":
                self._groups.append(Group(**body))
            case _:
                problem = f"'{name}' is nothing that is exported"
                raise refuse("bad_export", path=self.path, line=number, problem=problem)

    def _task(self, number: int, body: dict[str, Any]) -> None:
        """One without a key of its own is known by what it was called there."""
        key = self._keys[str(body.get("id"))] = str(body.get("key") or f"import:{body.get('id')}")
        if body.get("state") in _OVER:
            self._over += 1
            return
        wish = read_task({**body, "when": carried_on(body)}, exported=True)._replace(key=key)
        if self._owner is not None:
            wish = wish._replace(owner=self._owner)
        self._found.append(Found(wish, body.get("state") in _PAUSED, f"line {number}"))


def _check_header(path: str, number: int, value: Any) -> None:
    if not isinstance(value, Mapping) or value.get("horae") != "export":
        raise refuse("bad_export", path=path, line=number, problem="it has no header")
    version = value.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise refuse("newer_export", path=path, version=version, known=VERSION)


def _only(path: str, number: int, value: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(value, dict) or len(value) != 1:
        raise refuse("bad_export", path=path, line=number, problem="it is no object with one name")
    ((name, body),) = value.items()
    if not isinstance(body, dict):
        raise refuse("bad_export", path=path, line=number, problem=f"'{name}' is no object")
    return name, body


def carried_on(body: dict[str, Any]) -> Any:
    """The schedule as it goes on from where it was: a grid keeps its beat, and what has run counts as run."""
    when = body.get("when")
    if not isinstance(when, dict):
        return when
    when = dict(when)
    created, counted = body.get("created"), body.get("counted") or 0
    if "start" not in when and isinstance(created, str):
        made = datetime.fromisoformat(created)
        if when.get("kind") == "every" and when.get("from", "grid") == "grid":
            when["start"] = utc(made + parse_duration(when["interval"]))
        elif when.get("kind") == "calendar" and when.get("every", 1) > 1:
            when["start"] = utc(made)
    if isinstance(when.get("repeat"), int) and 0 < counted < when["repeat"]:
        when["repeat"] -= counted
    return when


def _run(body: dict[str, Any], keys: dict[str, str]) -> OldRun:
    planned = datetime.fromisoformat(body["planned"])
    started = datetime.fromisoformat(body["started"]) if body.get("started") else planned
    length = body.get("duration_ms")
    past = Past(
        keys.get(body["task_id"], ""),
        started,
        None if length is None else timedelta(milliseconds=length),
        RunState(body["state"]),
        None if body.get("result") is None else json.dumps(body["result"], ensure_ascii=False),
        body.get("error"),
    )
    return OldRun(past.key, past, planned, body.get("attempt", 1), Origin(body.get("origin", "scheduled")))
