"""A task as a command, an HTTP request, Python and an MCP call that create the same task, to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ...model.policy import DEFAULT_POLICIES, ONE_SHOT_POLICIES
from ...schedule.durations import parse_duration
from .policies import policies_json

_LINE: Final = " \\\n  "
_POLICY_OPTIONS: Final = {
    "overlap": "--overlap",
    "timeout": "--timeout",
    "guarantee": "--guarantee",
    "priority": "--priority",
    "max_duration": "--max-duration",
    "give_up_after": "--give-up-after",
    "notify_after": "--notify-after",
    "notify": "--notify",
    "retries": "--retries",
    "start_within": "--start-within",
    "where": "--where",
    "lanes": "--lanes",
}
_DURATIONS: Final = frozenset({"timeout", "max_duration", "within", "start_within"})
"""Policies whose numbers are seconds."""
_MCP_TARGETS: Final = frozenset({"http", "command", "function"})


class TaskCode(NamedTuple):
    """`left_out` are fields that the MCP tool does not take: it uses the defaults for them."""

    cli: str
    http: str
    python: str
    mcp: str
    left_out: tuple[str, ...] = ()


def task_code(body: Mapping[str, Any], server: str, *, is_once: bool = False) -> TaskCode:
    """Return the code that creates the task of a request body. `server` is the address of the HTTP API.

    `is_once`: the schedule fires once, which has other default policies.
    """
    left_out, mcp = mcp_call(body)
    python = python_program(body, is_once=is_once)
    return TaskCode(cli_command(body), http_request(body, server), python, mcp, left_out)


# --- command line --------------------------------------------------------------------------------------------------------


def cli_command(body: Mapping[str, Any]) -> str:
    """Return the `horae add` command, one option per line."""
    options = [*_task_options(body), *_policy_options(body.get("policies") or {})]
    target, program = _target_options(body)
    words = [["horae", "add", _when_text(body)], *target, *options, *program]
    return _LINE.join(shlex.join(each) for each in words)


def _when_text(body: Mapping[str, Any]) -> str:
    when = body["when"]
    return when if isinstance(when, str) else _compact(when)


def _task_options(body: Mapping[str, Any]) -> Iterator[list[str]]:
    for name in ("name", "zone", "key", "owner", "lane"):
        if body.get(name) is not None:
            yield [f"--{name}", str(body[name])]
    for label, value in (body.get("labels") or {}).items():
        yield ["--label", f"{label}={value}"]
    if body.get("payload", {}) != {}:
        yield ["--payload", _compact(body["payload"])]


def _target_options(body: Mapping[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the options of the target, and the program of a command, which stands at the end."""
    target = dict(body["target"])
    match target:
        case {"kind": "event", "say": str(say), **rest} if not rest:
            return [["--say", say]], []
        case {"kind": "event", "topic": str(topic), **rest} if not rest:
            return [["--event", topic]], []
        case {"kind": "function", "name": str(name), **rest} if not rest:
            return [["--function", name]], []
        case {"kind": "http", "url": str(url), **rest} if not rest:
            return [["--http", url]], []
        case {"kind": "command", "argv": list(argv), **rest} if not rest and argv and all(map(_is_plain, argv)):
            return [], [["--command", "--", *argv]]
        case {"kind": "agent", "group": str(group), "context_mode": str(mode), **rest} if rest.keys() <= {"budget"}:
            limits = [["--budget", f"{name}={limit}"] for name, limit in (rest.get("budget") or {}).items()]
            return [["--group", group, "--context", mode], *limits], []
        case _:
            return [["--target", _compact(target)]], []


def _is_plain(word: object) -> bool:
    return isinstance(word, str)


def _policy_options(policies: Mapping[str, Any]) -> Iterator[list[str]]:
    rest: dict[str, Any] = {}
    for name, value in policies.items():
        missed = _missed_text(value) if name == "missed" else None
        if missed is not None:
            yield ["--missed", missed]
        elif name in _POLICY_OPTIONS and not isinstance(value, Mapping):
            yield [_POLICY_OPTIONS[name], _option_text(name, value)]
        else:
            rest[name] = value
    if rest:
        yield ["--policies", _compact(rest)]


def _option_text(name: str, value: Any) -> str:
    if value is None:
        return "never"
    if isinstance(value, list | tuple):
        return ",".join(value) or "none"
    is_seconds = name in _DURATIONS and not isinstance(value, str)
    return f"{value}s" if is_seconds else str(value)


def _missed_text(missed: Any) -> str | None:
    """Return `latest within 1h`; None where an object is needed."""
    if isinstance(missed, str):
        return missed
    parts = dict(missed)
    mode, within = parts.pop("mode", None), parts.pop("within", "")
    if mode is None or parts or within is None:
        return None
    return f"{mode} within {_option_text('within', within)}" if within else str(mode)


# --- HTTP ----------------------------------------------------------------------------------------------------------------


def http_request(body: Mapping[str, Any], server: str) -> str:
    """Return a curl command; the token comes from the environment."""
    words = (
        f"curl -sS {shlex.quote(server + '/v1/tasks')}",
        '-H "Authorization: Bearer $TOKEN"',
        "-H 'Content-Type: application/json'",
        f"-d {shlex.quote(json.dumps(body, ensure_ascii=False, indent=2))}",
    )
    return _LINE.join(words)


# --- Python --------------------------------------------------------------------------------------------------------------


def python_program(body: Mapping[str, Any], *, is_once: bool = False) -> str:
    """Return a program that creates the task in the store of the environment."""
    policies = dict(body.get("policies") or {})
    names = [
        name
        for name, kind in (("Missed", "missed"), ("Notify", "notify"), ("RetryPolicy", "retry"))
        if isinstance(policies.get(kind), Mapping)
    ]
    arguments = [repr(dict(body["target"])), repr(body["when"])]
    if body.get("payload", {}) != {}:
        arguments.append(repr(body["payload"]))
    named = ("name", "key", "owner", "zone", "lane", "labels")
    arguments += [f"{name}={body[name]!r}" for name in named if body.get(name) is not None]
    arguments += [f"{name}={_policy_value(name, value, is_once=is_once)}" for name, value in policies.items()]
    uses_timedelta = any("timedelta(" in each for each in arguments)
    lines = [
        "import asyncio",
        *(["from datetime import timedelta"] if uses_timedelta else []),
        "",
        f"from horae import {', '.join(['Horae', *names])}",
        "",
        "",
        "async def main() -> None:",
        "    async with Horae(engine=False) as app:",
        "        task = await app.schedule(",
        *(f"            {each}," for each in arguments),
        "        )",
        "        print(task.id)",
        "",
        "",
        "asyncio.run(main())",
    ]
    return "\n".join(lines) + "\n"


def _policy_value(name: str, value: Any, *, is_once: bool) -> str:
    defaults = policies_json(ONE_SHOT_POLICIES if is_once else DEFAULT_POLICIES)
    if name == "missed" and isinstance(value, Mapping):
        parts = {**defaults["missed"], **value}
        return f"Missed({parts['mode']!r}, within={_timedelta(parts['within'])}, limit={parts['limit']!r})"
    if name == "retry" and isinstance(value, Mapping):
        given = [
            f"{part}={_timedelta(each) if part in ('backoff', 'max') else repr(each)}" for part, each in value.items()
        ]
        return f"RetryPolicy({', '.join(given)})"
    if name == "gate" and isinstance(value, Mapping):
        return repr(dict(value))
    if name == "notify" and isinstance(value, Mapping):
        parts = {part: each if part == "text" else tuple(each) for part, each in value.items()}
        return f"Notify({', '.join(f'{part}={each!r}' for part, each in parts.items())})"
    return repr("never" if value is None else value)


def _timedelta(value: Any) -> str:
    if value is None:
        return "None"
    seconds = parse_duration(value).total_seconds() if isinstance(value, str) else value
    return f"timedelta(seconds={seconds:g})"


# --- MCP -----------------------------------------------------------------------------------------------------------------


def mcp_call(body: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the fields that `schedule_task` does not take, and its call as JSON."""
    target = dict(body["target"])
    kind = target.pop("kind")
    left_out = [name for name in ("owner", "lane", "labels") if body.get(name)]
    if kind in _MCP_TARGETS:
        do: dict[str, Any] = {kind: target}
    elif kind == "event":
        do = {"event": target}
    else:
        do = {}
        left_out.append("target")
    if body.get("payload", {}) != {}:
        do["payload"] = body["payload"]
    policies = dict(body.get("policies") or {})
    missed = _missed_text(policies["missed"]) if "missed" in policies else None
    if missed is not None:
        del policies["missed"]
    start_within = policies.pop("start_within", None)
    gate = policies.pop("gate", None)
    if isinstance(gate, Mapping) and "target" in gate:
        spec = dict(gate["target"])
        gate = {spec.pop("kind"): spec, **{name: each for name, each in gate.items() if name != "target"}}
    where = policies.pop("where", None)
    left_out += [f"policies.{name}" for name in policies]
    is_text = isinstance(body["when"], str)
    arguments = {
        "when": _when_text(body) if is_text else _compact(body["when"]),
        "do": do["event"]["say"] if do.keys() == {"event"} and do["event"].keys() == {"say"} else do,
        "name": body.get("name"),
        "zone": body.get("zone"),
        "if_late": missed,
        "start_within": None if start_within is None else _option_text("start_within", start_within),
        "gate": gate,
        "where": where,
        "key": body.get("key"),
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    call = {"name": "schedule_task", "arguments": given}
    return tuple(left_out), json.dumps(call, ensure_ascii=False, indent=2)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
