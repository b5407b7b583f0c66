"""OpenClaw payload parser: an agent prompt or a command, with its session, delivery and time limits."""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from ..model.accounts.protected_variables import is_reserved
from ..model.policy import MAX_TIMEOUT
from ..model.task import Target
from ..schedule.compat import Note
from ..service.tasks.task_request import Options
from .fields import Fields, read_optional_mapping, read_optional_text, read_required_text, refuse_field
from .import_result import target
from .notes import note
from .shell import SHELLS

SCRIPT_KIND: Final = "script"
_KINDS: Final = "systemEvent, agentTurn, command or script"
_AGENT_TIMEOUT: Final = timedelta(hours=1)
_COMMAND_TIMEOUT: Final = timedelta(minutes=10)
_LEGACY_DELIVERY_KEYS: Final = ("channel", "to", "bestEffortDeliver")
_AGENT_KEYS: Final = ("model", "fallbacks", "thinking", "lightContext", "toolsAllow")
_KNOWN_KEYS: Final = frozenset(
    {
        *("kind", "text", "message", "argv", "command", "shell", "cwd", "env", "input", "deliver"),
        *("timeoutSeconds", "noOutputTimeoutSeconds", *_LEGACY_DELIVERY_KEYS, *_AGENT_KEYS),
    }
)


class ParsedPayload(NamedTuple):
    """A parsed payload; `text` serves as a name where the job has none, `ignored` lists fields without a counterpart."""

    target: Target
    payload: dict[str, Any]
    options: Options
    text: str
    notes: tuple[Note, ...]
    ignored: tuple[str, ...]


def read_payload(job: Fields, agent: str) -> ParsedPayload:
    payload = read_optional_mapping(job, "payload")
    delivery, notes = _read_delivery(job, payload)
    kind = payload.get("kind")
    match kind:
        case "systemEvent":
            notes += (note("openclaw_system_event"),)
            work = _read_agent(job, agent, read_required_text(payload, "text"), delivery, notes)
        case "agentTurn":
            work = _read_agent(job, agent, read_required_text(payload, "message"), delivery, notes)
        case "command":
            work = _read_command(payload, delivery, notes)
        case _:
            raise refuse_field("payload.kind", kind, _KINDS)
    return work._replace(ignored=(*work.ignored, *_ignored_keys(job, payload)))


def _ignored_keys(job: Fields, payload: Fields) -> list[str]:
    not_simple = {key for key in _AGENT_KEYS if payload.get(key) is not None and not _is_simple(payload[key])}
    keys = [f"payload.{key}" for key in sorted(set(payload) - _KNOWN_KEYS | not_simple)]
    delivery = read_optional_mapping(job, "delivery")
    return keys + [f"delivery.{key}" for key in sorted(delivery) if not _is_simple(delivery[key])]


def _is_simple(value: Any) -> bool:
    """Whether a value is text, a number, a flag or a list of texts; an object could be a reference to a secret, not allowed here."""
    if isinstance(value, list):
        return all(isinstance(each, str) for each in value)
    return isinstance(value, str | int | float)


def _read_agent(job: Fields, agent: str, prompt: str, delivery: Fields, notes: tuple[Note, ...]) -> ParsedPayload:
    payload = read_optional_mapping(job, "payload")
    session = read_optional_text(job, "sessionTarget") or "isolated"
    if session not in ("main", "isolated"):
        notes += (note("openclaw_session", session=session),)
    agent_payload = {"prompt": prompt, **{key: payload[key] for key in _AGENT_KEYS if _is_simple(payload.get(key))}}
    session_fields = {"session": session, "wake": read_optional_text(job, "wakeMode"), "delivery": delivery or None}
    recipient = delivery.get("to")
    spec = target(
        "agent",
        group=agent,
        chat=recipient if isinstance(recipient, str) else None,
        context_mode="isolated" if session == "isolated" else "group",
    )
    agent_payload |= {key: value for key, value in session_fields.items() if value is not None}
    return ParsedPayload(spec, agent_payload, _time_limits(payload, _AGENT_TIMEOUT), prompt, notes, ())


def _read_command(payload: Fields, delivery: Fields, notes: tuple[Note, ...]) -> ParsedPayload:
    directory = read_optional_text(payload, "cwd")
    argv = _read_argv(payload, directory)
    environment = _read_environment(payload)
    reserved = tuple(name for name in environment if is_reserved(name))
    stdin = read_optional_text(payload, "input")
    if stdin == "payload":
        raise refuse_field(
            "payload.input", stdin, "any other text: for a command target this word stands for its payload"
        )
    if argv[0].rsplit("/", 1)[-1] in SHELLS:
        notes += (note("openclaw_shell", shell=argv[0]),)
    if directory is not None:
        notes += (note("openclaw_directory", directory=directory),)
    allowed = {name: value for name, value in environment.items() if name not in reserved}
    spec = target("command", argv=argv, directory=directory, environment=allowed or None, stdin=stdin)
    command_payload = {"delivery": delivery} if delivery else {}
    ignored = tuple(f"payload.env.{name}" for name in reserved)
    return ParsedPayload(spec, command_payload, _time_limits(payload, _COMMAND_TIMEOUT), " ".join(argv), notes, ignored)


def _read_argv(payload: Fields, directory: str | None) -> list[str]:
    """The argument list; shell text goes to a login shell, as in OpenClaw, and a relative path is resolved against `cwd`."""
    argv = payload.get("argv")
    text = read_optional_text(payload, "shell") or read_optional_text(payload, "command")
    if argv is None and text is not None:
        argv = ["/bin/sh", "-lc", text]
    is_valid = (
        isinstance(argv, list) and bool(argv) and all(isinstance(word, str) and "\0" not in word for word in argv)
    )
    if not isinstance(argv, list) or not is_valid or not argv[0]:
        raise refuse_field("payload.argv", argv, "a list of texts without NUL that begins with a program")
    program = str(PurePosixPath(directory or "", argv[0])) if "/" in argv[0] else argv[0]
    if "/" in program and not program.startswith("/"):
        raise refuse_field("payload.argv", argv[0], "a program by name or absolute path, or with an absolute cwd")
    return [program, *argv[1:]]


def _read_environment(payload: Fields) -> dict[str, str]:
    environment = read_optional_mapping(payload, "env")
    if not all(isinstance(value, str) and "\0" not in name + value for name, value in environment.items()):
        raise refuse_field("payload.env", dict(environment), "an object of texts without NUL")
    return dict(environment)


def _read_delivery(job: Fields, payload: Fields) -> tuple[Fields, tuple[Note, ...]]:
    """The delivery settings: their own object, or fields of the payload as in older versions."""
    delivery = {key: value for key, value in read_optional_mapping(job, "delivery").items() if _is_simple(value)}
    if not delivery and payload.get("deliver") is True:
        delivery = {
            "mode": "announce",
            **{key: payload[key] for key in _LEGACY_DELIVERY_KEYS if _is_simple(payload.get(key))},
        }
    mode = delivery.get("mode", "announce") if delivery else "none"
    return delivery, () if mode == "none" else (note("openclaw_delivery", mode=mode),)


def _time_limits(payload: Fields, default: timedelta) -> Options:
    """Time limits: `timeoutSeconds` bounds the whole run, `noOutputTimeoutSeconds` (if set) the time without output."""
    total = _read_seconds(payload, "timeoutSeconds", default)
    return Options(timeout=_read_seconds(payload, "noOutputTimeoutSeconds", total), max_duration=total)


def _read_seconds(payload: Fields, key: str, default: timedelta) -> timedelta:
    """A number of seconds; zero means no limit, which becomes the longest timeout."""
    value = payload.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise refuse_field(f"payload.{key}", value, "a number of seconds")
    seconds = min(value or MAX_TIMEOUT.total_seconds(), MAX_TIMEOUT.total_seconds())
    return timedelta(seconds=seconds)
