"""A task as options of the command line say it, turned into the one shape that every front end has."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from ..model.invisible_characters import without_ignorable
from ..model.limits import NAME_CHARACTERS, shorten
from ..model.policy import Guarantee, Overlap
from ..schedule.text.zone_words import resolve_zone
from .messages.refusals import refuse
from .output.styled_text import inert
from .parameters import INTEGER, Values, one_of, option_group
from .task_filter import labels_of

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_SECRET: Final = re.compile(r"@secret:([A-Za-z0-9_.-]+)")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_ADDRESS: Final = re.compile(r"https?://", re.IGNORECASE)

_WORK: Final = (
    click.option("--say", metavar="TEXT", help="Say this: an event with a sentence."),
    click.option("--http", metavar="[METHOD] URL", help="Call this address."),
    click.option("--command", is_flag=True, help="Run a program: --command -- PROGRAM ARGUMENTS."),
    click.option("--function", metavar="NAME", help="Call this task function."),
    click.option("--event", metavar="TOPIC", help="Publish on this topic."),
    click.option("--target", metavar="JSON", help="Any target, in full."),
    click.option("--payload", metavar="JSON|@FILE|-", help="What it is given."),
    click.option("--header", multiple=True, metavar="NAME:VALUE", help="For --http; @secret:name takes a secret."),
    click.option("--body", metavar="JSON|@FILE|-", help="For --http, instead of payload."),
    click.option("--sign", metavar="SECRET", help="For --http: sign with this secret."),
)
_PLACE: Final = (
    click.option("--zone", "--tz", help="Where WHEN names no zone: Europe/Berlin."),
    click.option("--lane", help="At most so many at once: see 'horae lane NAME LIMIT'."),
    click.option("--label", multiple=True, metavar="K=V", help="To find it again; repeatable."),
)
_POLICIES: Final = (
    click.option("--missed", "--late", metavar="MODE", help="skip, latest, all, merge; 'latest within 1h'."),
    click.option("--overlap", type=one_of(Overlap), help="While an earlier run still goes."),
    click.option("--retries", metavar="N|never", help="Further tries; never: no end."),
    click.option("--timeout", metavar="5m", help="So long it may say nothing."),
    click.option("--max-duration", metavar="1h|never", help="So long in all."),
    click.option("--give-up-after", metavar="N|never", help="Failures in a row, then it stands still."),
    click.option("--notify-after", metavar="N|never", help="Failures in a row, then it is told of once."),
    click.option("--guarantee", type=one_of(Guarantee), help="What a crash may cost."),
    click.option("--priority", type=INTEGER, help="-100 to 100; higher comes first."),
)
definition_options: Final = option_group("said", *_WORK, *_PLACE, *_POLICIES)


def task_shape(said: Values, stray: list[str], behind: tuple[str, ...]) -> dict[str, Any]:
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


def _target(said: Values, stray: list[str], behind: tuple[str, ...]) -> dict[str, Any]:
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


def _http(said: Values, stray: list[str]) -> dict[str, Any]:
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


def _policies(said: Values) -> dict[str, Any]:
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
    return shorten(inert(without_ignorable(str(name))).strip(), NAME_CHARACTERS) or "task"


def _name_of_address(url: str) -> str:
    try:
        address = urlsplit(url)
        return f"{address.hostname or ''}{address.path}".rstrip("/")
    except ValueError:  # it is refused where addresses are looked at
        return ""
