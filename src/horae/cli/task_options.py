"""A task as options of the command line say it, turned into the one shape that every front end has."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import typer

from ..model.invisible_characters import without_ignorable
from ..model.limits import NAME_CHARACTERS, shorten
from ..model.policy import Guarantee, Overlap
from ..schedule.text.zone_words import resolve_zone
from .command import OptionGroup, Said
from .messages.refusals import refuse
from .output.styled_text import replace_unprintable
from .task_filter import labels_of

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_SECRET: Final = re.compile(r"@secret:([A-Za-z0-9_.-]+)")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)

WORK: Final[OptionGroup] = {
    "say": (str | None, typer.Option(None, "--say", metavar="TEXT", help="Say this: an event with a sentence.")),
    "http": (str | None, typer.Option(None, "--http", metavar="[METHOD] URL", help="Call this address.")),
    "command": (bool, typer.Option(False, "--command", help="Run a program: --command -- PROGRAM ARGUMENTS.")),
    "function": (str | None, typer.Option(None, "--function", metavar="NAME", help="Call this task function.")),
    "event": (str | None, typer.Option(None, "--event", metavar="TOPIC", help="Publish on this topic.")),
    "target": (str | None, typer.Option(None, "--target", metavar="JSON", help="Any target, in full.")),
    "payload": (str | None, typer.Option(None, "--payload", metavar="JSON|@FILE|-", help="What it is given.")),
    "header": (
        list[str] | None,
        typer.Option(None, "--header", metavar="NAME:VALUE", help="For --http; @secret:name takes a secret."),
    ),
    "body": (str | None, typer.Option(None, "--body", metavar="JSON|@FILE|-", help="For --http, instead of payload.")),
    "sign": (str | None, typer.Option(None, "--sign", metavar="SECRET", help="For --http: sign with this secret.")),
}
PLACE: Final[OptionGroup] = {
    "zone": (str | None, typer.Option(None, "--zone", "--tz", help="Where WHEN names no zone: Europe/Berlin.")),
    "lane": (str | None, typer.Option(None, "--lane", help="At most so many at once: see 'horae lane NAME LIMIT'.")),
    "label": (list[str] | None, typer.Option(None, "--label", metavar="K=V", help="To find it again; repeatable.")),
}
POLICIES: Final[OptionGroup] = {
    "missed": (
        str | None,
        typer.Option(None, "--missed", "--late", metavar="MODE", help="skip, latest, all, merge; 'latest within 1h'."),
    ),
    "overlap": (Overlap | None, typer.Option(None, "--overlap", help="While an earlier run still goes.")),
    "retries": (str | None, typer.Option(None, "--retries", metavar="N|never", help="Further tries; never: no end.")),
    "timeout": (str | None, typer.Option(None, "--timeout", metavar="5m", help="So long it may say nothing.")),
    "max_duration": (str | None, typer.Option(None, "--max-duration", metavar="1h|never", help="So long in all.")),
    "give_up_after": (
        str | None,
        typer.Option(None, "--give-up-after", metavar="N|never", help="Failures in a row, then it stands still."),
    ),
    "notify_after": (
        str | None,
        typer.Option(None, "--notify-after", metavar="N|never", help="Failures in a row, then it is told of once."),
    ),
    "guarantee": (Guarantee | None, typer.Option(None, "--guarantee", help="What a crash may cost.")),
    "priority": (int | None, typer.Option(None, "--priority", help="-100 to 100; higher comes first.")),
}
DEFINITION: Final[OptionGroup] = WORK | PLACE | POLICIES


def task_shape(said: Said, stray: list[str], behind: tuple[str, ...]) -> dict[str, Any]:
    """The wire's JSON for what was said; only what was said stands in it. `stray` are words that no option took."""
    shape: dict[str, Any] = _target(said, stray, behind)
    if stray:
        raise refuse("stray_words", words=" ".join(stray))
    if said["payload"] is not None:
        shape["payload"] = json_option("--payload", said["payload"])
    if said["zone"] is not None:
        shape["zone"] = resolve_zone(said["zone"], None)  # cities are understood too
    if said["lane"] is not None:
        shape["lane"] = said["lane"]
    if said["label"]:
        shape["labels"] = labels_of(said["label"])
    policies = _policies(said)
    return shape | ({"policies": policies} if policies else {})


def _target(said: Said, stray: list[str], behind: tuple[str, ...]) -> dict[str, Any]:
    shape: dict[str, Any] = {name: said[name] for name in ("say", "function", "event") if said[name] is not None}
    if said["http"] is not None:
        shape["http"] = _http(said, stray)
    for option in ("header", "body", "sign"):
        if said[option] and said["http"] is None:
            raise refuse("only_for_http", option=f"--{option}")
    if behind and not said["command"]:
        raise refuse("stray_words", words=" ".join(behind))
    if said["command"]:
        if not behind:
            raise refuse("command_not_behind")
        shape["command"] = list(behind)
    if said["target"] is not None:
        shape["target"] = json_option("--target", said["target"])
    return shape


def _http(said: Said, stray: list[str]) -> dict[str, Any]:
    """`--http URL`, or `--http METHOD URL`, where the address is the last word that no option took."""
    shape: dict[str, Any] = {"url": said["http"]}
    if not _ADDRESS.match(said["http"]) and stray and _ADDRESS.match(stray[-1]):
        if said["http"].upper() not in METHODS:
            raise refuse("no_method", value=said["http"], allowed=", ".join(METHODS))
        shape = {"method": said["http"].upper(), "url": stray.pop()}
    elif said["http"].upper() in METHODS:
        raise refuse("no_address", method=said["http"].upper())
    if said["header"]:
        shape["headers"] = dict(_header(each) for each in said["header"])
    if said["body"] is not None:
        shape["body"] = json_option("--body", said["body"])
    if said["sign"] is not None:
        shape["sign"] = {"secret": said["sign"]}
    return shape


def _header(text: str) -> tuple[str, Any]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise refuse("bad_header", value=text)
    parts = [{"secret": part} if odd else part for odd, part in _alternating(_SECRET.split(value.strip())) if part]
    return name.strip(), parts[0] if len(parts) == 1 else parts or ""


def _alternating(parts: list[str]) -> list[tuple[bool, str]]:
    """`split` with one group gives text, name, text, name …, text."""
    return [(number % 2 == 1, part) for number, part in enumerate(parts)]


def json_option(option: str, text: str) -> Any:
    """JSON itself, `@file`, or `-` for what comes in."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("bad_json_option", option=option, problem=error) from None


def _policies(said: Said) -> dict[str, Any]:
    chosen = {name: said[name] for name in ("missed", "overlap", "timeout", "guarantee", "priority")}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for name in ("retries", "give_up_after", "max_duration", "notify_after"):
        if said[name] is not None:
            chosen[name] = _limit(said[name])
    return chosen


def _limit(text: str) -> int | str | None:
    """A number, a length of time, or never; what is neither is refused where all limits are."""
    if text == "never":
        return None
    return int(text) if _NUMBER.fullmatch(text) else text


def usual_name(shape: dict[str, Any]) -> str:
    """What a task is called whose maker said nothing: after what it does."""
    if "say" in shape:
        name = shape["say"]
    elif "http" in shape:
        name = _name_of_address(str(shape["http"]["url"]))
    elif "command" in shape:
        name = Path(shape["command"][0]).name if shape["command"] else ""
    else:
        target = shape.get("target")
        kind = target.get("kind", "") if isinstance(target, dict) else ""
        name = shape.get("function") or shape.get("event") or kind
    return shorten(replace_unprintable(without_ignorable(str(name))).strip(), NAME_CHARACTERS) or "task"


def _name_of_address(url: str) -> str:
    try:
        address = urlsplit(url)
        return f"{address.hostname or ''}{address.path}".rstrip("/")
    except ValueError:  # it is refused where addresses are looked at
        return ""
