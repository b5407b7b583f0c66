"""Options that define a task (target, zone, lane, labels, policies) or the input of a run, converted to the JSON of a request."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import click

from ..model.agents.agent_task import AGENT_KIND
from ..model.agents.budget import parse_budget
from ..model.inputs.run_input import RunInput
from ..model.lanes.node_labels import parse_where
from ..model.limits import NAME_CHARACTERS, shorten
from ..model.policy import Guarantee, Overlap
from ..model.refusals import refuse as refuse_input
from ..model.task import Task
from ..model.text.invisible_characters import without_ignorable
from ..schedule.after import Mode
from ..schedule.text.zone_words import resolve_zone
from ..wire.tasks.run_inputs import make_input
from ..wire.tasks.targets import SHORT_TARGETS, target_json
from .messages.refusals import refuse
from .output.styled_text import replace_unprintable
from .parameters import INTEGER, Values, one_of, option_group
from .task_filter import parse_labels

ContextChoice: TypeAlias = Literal["group", "isolated", "series"]
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_SECRET_REFERENCE: Final = re.compile(r"@secret:([A-Za-z0-9_.-]+)")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_HTTP_URL: Final = re.compile(r"https?://", re.IGNORECASE)

_TARGET_OPTIONS: Final = (
    click.option("--say", metavar="TEXT", help="Publish this sentence as an event."),
    click.option("--http", metavar="[METHOD] URL", help="Call this address."),
    click.option("--command", is_flag=True, help="Run a program: --command -- PROGRAM ARGUMENTS."),
    click.option("--function", metavar="NAME", help="Call this task function."),
    click.option("--event", metavar="TOPIC", help="Publish an event on this topic."),
    click.option("--prompt", metavar="TEXT", help="Give this prompt to the agent of --group."),
    click.option("--group", metavar="FOLDER", help="The chat group whose agent does it: see 'horae group ls'."),
    click.option(
        "--context",
        type=one_of(ContextChoice),
        help="For --group: the session of the chat, none (default), or that of the task's last run.",
    ),
    click.option(
        "--budget",
        multiple=True,
        metavar="NAME=AMOUNT",
        help="For --group: limit for each day: tokens=20000, cost=2.5 (US dollars), runs=4; repeatable.",
    ),
    click.option("--target", metavar="JSON", help="The target as JSON, in full."),
    click.option("--payload", metavar="JSON|@FILE|-", help="Payload of the target."),
    click.option(
        "--header", multiple=True, metavar="NAME:VALUE", help="Header for --http; @secret:NAME inserts a secret."
    ),
    click.option("--body", metavar="JSON|@FILE|-", help="Body for --http, instead of the payload."),
    click.option("--sign", metavar="SECRET", help="For --http: sign with this secret."),
)
_SETTING_OPTIONS: Final = (
    click.option("--zone", "--tz", help="Zone of a WHEN that names none: Europe/Berlin."),
    click.option(
        "--lane", multiple=True, help="Lane with a limit of concurrent runs: see 'horae lane NAME LIMIT'; repeatable."
    ),
    click.option("--lanes", metavar="LIST|none", help="Further lanes; a run starts when all of them have room."),
    click.option("--label", multiple=True, metavar="K=V", help="Label of the task, for filters; repeatable."),
)
_POLICY_OPTIONS: Final = (
    click.option(
        "--missed",
        "--late",
        metavar="MODE",
        help="For missed occurrences: skip, latest, all or merge; also 'latest within 1h'.",
    ),
    click.option("--overlap", type=one_of(Overlap), help="What to do while an earlier run is still going."),
    click.option("--retries", metavar="N|never", help="Number of retries; never: without limit."),
    click.option("--timeout", metavar="5m", help="Longest time without a response."),
    click.option("--max-duration", metavar="1h|never", help="Longest time of a run in all."),
    click.option(
        "--start-within", metavar="10m|never", help="Skip it if it has not started that long after it was due."
    ),
    click.option("--where", multiple=True, metavar="K=V|any", help="Run only on nodes with this label; repeatable."),
    click.option("--give-up-after", metavar="N|never", help="Failures in a row after which the task stops."),
    click.option("--notify-after", metavar="N|never", help="Failures in a row after which one notice is sent."),
    click.option("--notify", metavar="NAME|never", help="Destinations to send messages to; see 'horae notify ls'."),
    click.option("--notify-on", metavar="LIST", help="failed, recovered, overdue, succeeded. Default: the first two."),
    click.option("--notify-text", metavar="TEXT", help="Text of these messages; {horae.result} is the result."),
    click.option(
        "--gate", metavar="CHECK|never", help="Check before each run: 'command PROGRAM …', 'http URL', 'function NAME'."
    ),
    click.option("--gate-timeout", metavar="30s", help="Longest time that the gate may take."),
    click.option("--guarantee", type=one_of(Guarantee), help="Whether a run is repeated after a crash."),
    click.option("--priority", type=INTEGER, help="Priority from -100 to 100; higher comes first."),
    click.option("--policies", metavar="JSON", help="The policies as JSON, in full; the options above come first."),
)
definition_options: Final = option_group("definition", *_TARGET_OPTIONS, *_SETTING_OPTIONS, *_POLICY_OPTIONS)


def after_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name predecessors: `after` and `after_mode`."""
    mode = click.option("--after-mode", type=one_of(Mode), help="With --after: any of them (default), or all.")
    after = click.option(
        "--after", multiple=True, metavar="TASK[:on]", help="Run it after this task: succeeded, failed or ended."
    )
    return after(mode(command))


def task_shape(
    definition: Values, extra_words: list[str], program: tuple[str, ...], *, is_edit: bool = False
) -> dict[str, Any]:
    """Return the JSON of a task request with the fields that were given. `extra_words`: words that no option took.

    `is_edit`: settings of an agent may be given without its group; `complete_agent` adds it.
    """
    shape: dict[str, Any] = _target(definition, extra_words, program, is_edit=is_edit)
    if extra_words:
        raise refuse("stray_words", words=" ".join(extra_words))
    if definition["payload"] is not None:
        shape["payload"] = json_option("--payload", definition["payload"])
    if definition["zone"] is not None:
        shape["zone"] = resolve_zone(definition["zone"], None)  # also accepts cities
    if definition["lane"]:
        shape["lane"] = definition["lane"][0]
    if definition["label"]:
        shape["labels"] = parse_labels(definition["label"])
    policies = _policies(definition)
    return shape | ({"policies": policies} if policies else {})


def _target(definition: Values, extra_words: list[str], program: tuple[str, ...], *, is_edit: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {
        name: definition[name] for name in ("say", "function", "event") if definition[name] is not None
    }
    if definition["http"] is not None:
        shape["http"] = _http(definition, extra_words)
    for option in ("header", "body", "sign"):
        if definition[option] and definition["http"] is None:
            raise refuse("only_for_http", option=f"--{option}")
    if program and not definition["command"]:
        raise refuse("stray_words", words=" ".join(program))
    if definition["command"]:
        if not program:
            raise refuse("command_not_behind")
        shape["command"] = list(program)
    if definition["target"] is not None:
        shape["target"] = json_option("--target", definition["target"])
    return shape | _prompt(definition, is_edit=is_edit)


def _prompt(definition: Values, *, is_edit: bool) -> dict[str, Any]:
    """Return the prompt for the agent of a group; without a group, the payload of a task that has one."""
    prompt, group, context = (definition[name] for name in ("prompt", "group", "context"))
    budget = parse_budget(definition["budget"])
    for option, value in (("--context", context), ("--budget", budget)):
        if group is None and value and not is_edit:
            raise refuse("only_for_group", option=option)
    if group is None and not context and not budget:
        return {} if prompt is None else {"payload": {"prompt": prompt}}
    given = {"group": group, "prompt": prompt, "context_mode": context, "budget": budget or None}
    return {"agent": {name: value for name, value in given.items() if value is not None}}


def complete_agent(shape: dict[str, Any], task: Task) -> dict[str, Any]:
    """Return an edit whose agent names no group with the group and the other settings of the edited task."""
    given = dict(shape.get("agent", {"group": ""}))
    if "group" in given:
        return shape
    if task.target.kind != AGENT_KIND:
        raise refuse("only_for_group", option="--budget" if "budget" in given else "--context")
    if any(name in shape for name in ("target", *SHORT_TARGETS)):
        return {**shape, "agent": {"group": json.loads(task.target.spec)["group"], **given}}
    target = target_json(task.target)
    prompt = given.pop("prompt", None)
    if "budget" in given:
        given["budget"] = {**target.get("budget", {}), **given["budget"]}
    others = {name: value for name, value in shape.items() if name != "agent"}
    return {**others, "target": target | given} | ({} if prompt is None else {"payload": {"prompt": prompt}})


def _http(definition: Values, extra_words: list[str]) -> dict[str, Any]:
    """`--http URL`, or `--http METHOD URL`, where the address is the last word that no option took."""
    shape: dict[str, Any] = {"url": definition["http"]}
    if not _HTTP_URL.match(definition["http"]) and extra_words and _HTTP_URL.match(extra_words[-1]):
        if definition["http"].upper() not in METHODS:
            raise refuse("no_method", value=definition["http"], allowed=", ".join(METHODS))
        shape = {"method": definition["http"].upper(), "url": extra_words.pop()}
    elif definition["http"].upper() in METHODS:
        raise refuse("no_address", method=definition["http"].upper())
    if definition["header"]:
        shape["headers"] = dict(_parse_header(each) for each in definition["header"])
    if definition["body"] is not None:
        shape["body"] = json_option("--body", definition["body"])
    if definition["sign"] is not None:
        shape["sign"] = {"secret": definition["sign"]}
    return shape


def _parse_header(text: str) -> tuple[str, Any]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise refuse("bad_header", value=text)
    parts = [
        {"secret": part} if odd else part for odd, part in _mark_secrets(_SECRET_REFERENCE.split(value.strip())) if part
    ]
    return name.strip(), parts[0] if len(parts) == 1 else parts or ""


def _mark_secrets(parts: list[str]) -> list[tuple[bool, str]]:
    """Pair each part with whether it is a secret name: `re.split` with one group alternates text and name."""
    return [(number % 2 == 1, part) for number, part in enumerate(parts)]


def json_option(option: str, text: str) -> Any:
    """Parse JSON given as text, as `@file`, or as `-` for standard input."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse("bad_json_option", option=option, problem=error) from None


def _policies(definition: Values) -> dict[str, Any]:
    """Return the policies that were given, each option over the same one of `--policies`."""
    given = {} if definition["policies"] is None else json_option("--policies", definition["policies"])
    if not isinstance(given, dict):
        raise refuse("bad_json_option", option="--policies", problem="not a JSON object")
    return {**given, **_policy_options(definition)}


def _policy_options(definition: Values) -> dict[str, Any]:
    chosen = {name: definition[name] for name in ("missed", "overlap", "timeout", "guarantee", "priority")}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for name in ("retries", "give_up_after", "max_duration", "notify_after", "start_within"):
        if definition[name] is not None:
            chosen[name] = _parse_limit(definition[name])
    if definition["where"]:
        chosen["where"] = {} if definition["where"] == ("any",) else parse_where(definition["where"])
    repeated, further = list(definition["lane"][1:]), definition["lanes"]
    if repeated or further is not None:
        chosen["lanes"] = repeated + ([] if further in (None, "none") else _split_list(further))
    return {**chosen, **_notify_options(definition), **_gate_options(definition)}


def _gate_options(definition: Values) -> dict[str, Any]:
    """Return the policy `gate`: `command PROGRAM …`, `http [METHOD] URL`, `function NAME`, or JSON."""
    text, timeout = definition["gate"], definition["gate_timeout"]
    if text is None and timeout is not None:
        raise refuse("bad_gate", value="--gate-timeout")
    if text is None:
        return {}
    if text.strip() == "never":
        return {"gate": None}
    gate = json_option("--gate", text) if text.lstrip().startswith(("{", "@")) else _parse_gate(text)
    return {"gate": {**gate, "timeout": timeout} if timeout is not None and isinstance(gate, dict) else gate}


def _parse_gate(text: str) -> dict[str, Any]:
    try:
        kind, *words = shlex.split(text)
    except ValueError:
        raise refuse("bad_gate", value=text) from None
    match kind, words:
        case "command", [_, *_]:
            return {"command": words}
        case "http", [url]:
            return {"http": {"url": url}}
        case "http", [method, url] if method.upper() in METHODS:
            return {"http": {"method": method.upper(), "url": url}}
        case "function", [name]:
            return {"function": name}
        case _:
            raise refuse("bad_gate", value=text)


def _notify_options(definition: Values) -> dict[str, Any]:
    """Return the policy `notify`."""
    to, on, text = definition["notify"], definition["notify_on"], definition["notify_text"]
    if to is None and on is None and text is None:
        return {}
    if to is None:
        raise refuse("notify_without_destination")
    if to == "never":
        return {"notify": None}
    parts = {"to": to, "on": on}
    lists = {name: _split_list(value) for name, value in parts.items() if value is not None}
    return {"notify": lists if text is None else {**lists, "text": text}}


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_limit(text: str) -> int | str | None:
    """A number, a duration, or None for `never`; other text is refused later, with all other limits."""
    if text == "never":
        return None
    return int(text) if _NUMBER.fullmatch(text) else text


def default_name(shape: dict[str, Any]) -> str:
    """Return the name of a task without `--name`, derived from its target."""
    if "agent" in shape:
        name = str(shape["agent"].get("prompt", shape["agent"]["group"])).strip().partition("\n")[0]
    elif "say" in shape:
        name = shape["say"]
    elif "http" in shape:
        name = _name_from_url(str(shape["http"]["url"]))
    elif "command" in shape:
        name = Path(shape["command"][0]).name if shape["command"] else ""
    else:
        target = shape.get("target")
        kind = target.get("kind", "") if isinstance(target, dict) else ""
        name = shape.get("function") or shape.get("event") or kind
    return shorten(replace_unprintable(without_ignorable(str(name))).strip(), NAME_CHARACTERS) or "task"


def _name_from_url(url: str) -> str:
    try:
        address = urlsplit(url)
        return f"{address.hostname or ''}{address.path}".rstrip("/")
    except ValueError:  # the target refuses a malformed address
        return ""


input_options: Final = option_group(
    "inputs",
    click.option("--input", metavar="JSON|@FILE|-", help="Payload of this run alone, instead of the task's."),
    click.option(
        "--merge",
        metavar="JSON|@FILE|-",
        help="Changes of the task's payload for this run alone; null removes a field.",
    ),
)


def read_input_options(inputs: Values) -> RunInput | None:
    replacement, patch = inputs["input"], inputs["merge"]
    if replacement is not None and patch is not None:
        raise refuse_input("one_input", name="input")
    if patch is not None:
        return make_input("merge", json_option("--merge", patch))
    return None if replacement is None else make_input("replace", json_option("--input", replacement))
