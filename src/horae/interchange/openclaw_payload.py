"""OpenClaw's payloads: what an agent is told, or a command; with its session, its delivery and its time limits."""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from ..model.accounts.protected_variables import is_reserved
from ..model.policy import LONGEST_TIMEOUT
from ..model.task import Target
from ..schedule.compat import Note
from ..service.tasks.task_request import Options
from .fields import Fields, bad_field, needed_text, optional_mapping, optional_text
from .import_result import target
from .notes import note
from .shell import SHELLS

SCRIPT: Final = "script"
_KINDS: Final = "systemEvent, agentTurn, command or script"
_AGENT_LIMIT: Final = timedelta(hours=1)
_COMMAND_LIMIT: Final = timedelta(minutes=10)
_OLD_DELIVERY: Final = ("channel", "to", "bestEffortDeliver")
_FOR_THE_AGENT: Final = ("model", "fallbacks", "thinking", "lightContext", "toolsAllow")
_KNOWN: Final = frozenset(
    {
        *("kind", "text", "message", "argv", "command", "shell", "cwd", "env", "input", "deliver"),
        *("timeoutSeconds", "noOutputTimeoutSeconds", *_OLD_DELIVERY, *_FOR_THE_AGENT),
    }
)


class Work(NamedTuple):
    """`text` is what it is about, for a name; `ignored` are fields that say nothing here."""

    target: Target
    payload: dict[str, Any]
    options: Options
    text: str
    notes: tuple[Note, ...]
    ignored: tuple[str, ...]


def read_work(job: Fields, agent: str) -> Work:
    payload = optional_mapping(job, "payload")
    delivery, notes = _delivery(job, payload)
    kind = payload.get("kind")
    match kind:
        case "systemEvent":
            notes += (note("openclaw_system_event"),)
            work = _agent(job, agent, needed_text(payload, "text"), delivery, notes)
        case "agentTurn":
            work = _agent(job, agent, needed_text(payload, "message"), delivery, notes)
        case "command":
            work = _command(payload, delivery, notes)
        case _:
            raise bad_field("payload.kind", kind, _KINDS)
    return work._replace(ignored=(*work.ignored, *_ignored(job, payload)))


def _ignored(job: Fields, payload: Fields) -> list[str]:
    strange = {key for key in _FOR_THE_AGENT if payload.get(key) is not None and not _is_simple(payload[key])}
    keys = [f"payload.{key}" for key in sorted(set(payload) - _KNOWN | strange)]
    delivery = optional_mapping(job, "delivery")
    return keys + [f"delivery.{key}" for key in sorted(delivery) if not _is_simple(delivery[key])]


def _is_simple(value: Any) -> bool:
    """Text, a number, a flag, a list of texts. An object could be a reference to a secret, which is not theirs to make."""
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float)


def _agent(job: Fields, agent: str, prompt: str, delivery: Fields, notes: tuple[Note, ...]) -> Work:
    payload = optional_mapping(job, "payload")
    session = optional_text(job, "sessionTarget") or "isolated"
    if session not in ("main", "isolated"):
        notes += (note("openclaw_session", session=session),)
    said = {"prompt": prompt, **{key: payload[key] for key in _FOR_THE_AGENT if _is_simple(payload.get(key))}}
    where = {"session": session, "wake": optional_text(job, "wakeMode"), "delivery": delivery or None}
    to = delivery.get("to")
    spec = target(
        "agent",
        group=agent,
        chat=to if isinstance(to, str) else None,
        context_mode="isolated" if session == "isolated" else "group",
    )
    said |= {key: value for key, value in where.items() if value is not None}
    return Work(spec, said, _limits(payload, _AGENT_LIMIT), prompt, notes, ())


def _command(payload: Fields, delivery: Fields, notes: tuple[Note, ...]) -> Work:
    directory = optional_text(payload, "cwd")
    argv = _argv(payload, directory)
    environment = _environment(payload)
    reserved = tuple(name for name in environment if is_reserved(name))
    stdin = optional_text(payload, "input")
    if stdin == "payload":
        raise bad_field("payload.input", stdin, "any other text: for a command target this word stands for its payload")
    if argv[0].rsplit("/", 1)[-1] in SHELLS:
        notes += (note("openclaw_shell", shell=argv[0]),)
    if directory is not None:
        notes += (note("openclaw_directory", directory=directory),)
    kept = {name: value for name, value in environment.items() if name not in reserved}
    spec = target("command", argv=argv, directory=directory, environment=kept or None, stdin=stdin)
    said = {"delivery": delivery} if delivery else {}
    ignored = tuple(f"payload.env.{name}" for name in reserved)
    return Work(spec, said, _limits(payload, _COMMAND_LIMIT), " ".join(argv), notes, ignored)


def _argv(payload: Fields, directory: str | None) -> list[str]:
    """A list, or shell text, which OpenClaw itself gives to a login shell. A relative path is one in its directory."""
    argv = payload.get("argv")
    text = optional_text(payload, "shell") or optional_text(payload, "command")
    if argv is None and text is not None:
        argv = ["/bin/sh", "-lc", text]
    whole = isinstance(argv, list) and bool(argv) and all(isinstance(word, str) and "\0" not in word for word in argv)
    if not isinstance(argv, list) or not whole or not argv[0]:
        raise bad_field("payload.argv", argv, "a list of texts without NUL that begins with a program")
    program = str(PurePosixPath(directory or "", argv[0])) if "/" in argv[0] else argv[0]
    if "/" in program and not program.startswith("/"):
        raise bad_field("payload.argv", argv[0], "a program by name or absolute path, or with an absolute cwd")
    return [program, *argv[1:]]


def _environment(payload: Fields) -> dict[str, str]:
    found = optional_mapping(payload, "env")
    if not all(isinstance(value, str) and "\0" not in name + value for name, value in found.items()):
        raise bad_field("payload.env", dict(found), "an object of texts without NUL")
    return dict(found)


def _delivery(job: Fields, payload: Fields) -> tuple[Fields, tuple[Note, ...]]:
    """Of its own, or inside the payload as older versions have it."""
    delivery = {key: value for key, value in optional_mapping(job, "delivery").items() if _is_simple(value)}
    if not delivery and payload.get("deliver") is True:
        delivery = {"mode": "announce", **{key: payload[key] for key in _OLD_DELIVERY if _is_simple(payload.get(key))}}
    mode = delivery.get("mode", "announce") if delivery else "none"
    return delivery, () if mode == "none" else (note("openclaw_delivery", mode=mode),)


def _limits(payload: Fields, usual: timedelta) -> Options:
    """There a limit is on the whole; silence has one only where somebody set it."""
    whole = _seconds(payload, "timeoutSeconds", usual)
    return Options(timeout=_seconds(payload, "noOutputTimeoutSeconds", whole), max_duration=whole)


def _seconds(payload: Fields, key: str, usual: timedelta) -> timedelta:
    """Zero means no limit, which is the longest there is."""
    value = payload.get(key)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise bad_field(f"payload.{key}", value, "a number of seconds")
    seconds = min(value or LONGEST_TIMEOUT.total_seconds(), LONGEST_TIMEOUT.total_seconds())
    return timedelta(seconds=seconds)
