"""Generator of reference.md and schemas/*.json from the code: `python -m docs.reference`; a test compares them."""
# ruff: noqa: INP001 - a folder of pages, with the script that generates some of them

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import horae
from docs.json_schemas import write_schemas
from horae.lifecycle.explain.explanation import _SENTENCES as VERDICTS
from horae.lifecycle.explain.explanation import Verdict
from horae.model.events.event import EventKind
from horae.model.reason import SENTENCES, Reason
from horae.model.run import RunState
from horae.model.task import PauseCause, TaskState
from horae.settings import SETTINGS, Setting
from horae.typography import full_width
from horae.wire.problems import ERROR_MAPPINGS, ExitCode

PLACE: Final = Path(__file__).with_suffix(".md")
INTRODUCTION: Final = """\
# Reference

Every name that programs use: settings, exit codes, states, reasons, verdicts, events, refusals. `python -m docs.reference`
generates this page from the code, and a test compares the two. Names are stable; sentences may improve.
"""
PRECEDENCE: Final = """\
A flag or an argument comes first, then the environment, then `horae.toml` in the working directory, then the user's file,
then the default. In a file a setting is under its path: `targets.http.mode` is `mode` in `[targets.http]`. The pages of the
targets list their other settings.
"""
EXITS: Final = {
    ExitCode.OK: "Success.",
    ExitCode.FAILED: "An error; or a check found a problem.",
    ExitCode.USAGE: "Wrong usage, or a confirmation is missing.",
    ExitCode.NOT_FOUND: "There is no such task, run or file.",
    ExitCode.NOT_ALLOWED: "Not allowed.",
    ExitCode.CONFLICT: "The present state does not allow this.",
    ExitCode.INVALID: "The schedule, task or value was refused.",
    ExitCode.UNREACHABLE: "The store cannot be reached, or is damaged.",
    ExitCode.TIMED_OUT: "The run did not end within the timeout.",
    ExitCode.RUN_FAILED: "The run that the command waited for has failed.",
    ExitCode.INTERRUPTED: "Interrupted by Ctrl-C.",
}
TASK_STATES: Final = {
    TaskState.ACTIVE: "Its schedule has further occurrences.",
    TaskState.PAUSED: "Nothing of it starts until it is resumed, except requested runs.",
    TaskState.COMPLETED: "Nothing is left to do.",
    TaskState.FAILED: "It gave up, or is quarantined; it needs attention and can be resumed.",
    TaskState.CANCELLED: "Ended by a cancel, which can be undone for 30 days; its history stays.",
}
RUN_STATES: Final = {
    RunState.CLAIMED: "A node has claimed it and not started it: only under `at_most_once`.",
    RunState.RUNNING: "A node executes it.",
    RunState.WAITING: "An external system continues it, and must answer before its deadline.",
    RunState.SUCCEEDED: "It succeeded.",
    RunState.FAILED: "It failed, with an error.",
    RunState.TIMED_OUT: "It was silent, or ran, for too long.",
    RunState.LOST: "Its node died, or handed it back; its occurrence runs again unless it is `at_most_once`.",
    RunState.CANCELLED: "It was cancelled.",
    RunState.SKIPPED: "It did not run; the reason says why.",
}
PAUSE_CAUSES: Final = {
    PauseCause.REQUESTED: "A caller requested it.",
    PauseCause.AWAITING_APPROVAL: "It waits for the approval of its owner or an admin.",
    PauseCause.AGENT_STOPPED: "It was stopped together with its agent.",
    PauseCause.ORPHANED: "The code that declared it no longer does.",
    PauseCause.OWNER_REVOKED: "The last token of its agent was revoked.",
    PauseCause.QUOTA: "A quota was lowered, and the task exceeds it; the note names the quota.",
    PauseCause.PREDECESSOR_DELETED: "A task that it runs after was deleted; the note names it.",
    PauseCause.GATE_FAILED: "Its gate failed eight times in a row; the note has its last words.",
    PauseCause.OWNER_MOVING: "Its owner moves to another deployment, where the task goes on.",
}
EVENTS: Final = {
    EventKind.TASK_CREATED: "A task was made.",
    EventKind.TASK_EDITED: "A task was changed.",
    EventKind.TASK_PAUSED: "A task was paused.",
    EventKind.TASK_RESUMED: "A task was resumed, by a caller or because its pause has ended.",
    EventKind.TASK_COMPLETED: "Nothing is left for a task to do.",
    EventKind.TASK_FAILED: "A task gave up, or is quarantined.",
    EventKind.TASK_CANCELLED: "A task was cancelled.",
    EventKind.TASK_DELETED: "A task and its history were removed.",
    EventKind.TASK_REPLANNED: "Newer zone data moved the next occurrence of a task.",
    EventKind.TASK_FAILING: "As many occurrences in a row have failed as its policy `notify_after` says.",
    EventKind.TASK_RECOVERED: "A task that was failing has succeeded.",
    EventKind.TASK_OVERDUE: "An occurrence has not started within the grace period; the detail is when it was due.",
    EventKind.TASK_TRIGGERED: "An event target published an event; the detail is the topic.",
    EventKind.PLAN_RESULT: "A run of a plan, or of another task that calls a station, was settled; the detail is the name of its status.",
    EventKind.RUN_STARTED: "A run started.",
    EventKind.RUN_WAITING: "An external system continues a run.",
    EventKind.RUN_SUCCEEDED: "A run succeeded.",
    EventKind.RUN_FAILED: "A run failed.",
    EventKind.RUN_TIMED_OUT: "A run was silent, or ran, for too long.",
    EventKind.RUN_LOST: "A run was lost with its node, or handed back.",
    EventKind.RUN_CANCELLED: "A run was cancelled.",
    EventKind.RUN_SKIPPED: "An occurrence, or several in a row, did not run.",
    EventKind.RUN_RETRYING: "An occurrence will be retried.",
    EventKind.RUN_YIELD_REQUESTED: "An idle run is asked to yield; the detail is the reason and the lane in which an entry waits.",
    EventKind.WEBHOOK_BLOCKED: "The node may not call the address of a webhook; the detail is its id and the networks to allow, or `key` where the node has no key to sign with.",
    EventKind.WEBHOOK_DISABLED: "A webhook was disabled; the detail is its id and the reason.",
    EventKind.CHANNEL_CONNECTED: "A chat channel receives messages again; the detail is its name. Its owner is `local`.",
    EventKind.CHANNEL_FAILED: "A chat channel receives nothing; the detail is its name and the problem. Its owner is `local`.",
    EventKind.DELIVERY_SENT: "A chat service has accepted a text, or reports that it was received or read; the detail is JSON with the delivery, the chat and the state.",
    EventKind.DELIVERY_DELAYED: "A text for a chat has not been sent within a minute, and is tried again; the detail is JSON with the delivery, the chat and the problem. One for each delivery.",
    EventKind.DELIVERY_FAILED: "A text for a chat will not be sent; the detail is JSON with the delivery, the chat and the problem. `horae deliveries retry` tries it again.",
    EventKind.MESSAGE_APPENDED: "A stream has new messages; the detail is its name, the first and the last number.",
}


def page() -> str:
    parts = (
        INTRODUCTION,
        _section("Settings", PRECEDENCE + "\n" + _settings()),
        _section("Exit codes", _table(("code", "name", "meaning"), _exits())),
        _section("Errors", _table(("error", "exit code", "HTTP status", "title", "中文"), _errors())),
        _section("Task states", _named("state", TaskState, TASK_STATES)),
        _section("Run states", _named("state", RunState, RUN_STATES)),
        _section("Pause causes", _named("cause", PauseCause, PAUSE_CAUSES)),
        _section("Reasons", _both("reason", Reason, SENTENCES)),
        _section("Verdicts", "The answers of `why`.\n\n" + _both("verdict", Verdict, VERDICTS)),
        _section("Events", _named("event", EventKind, EVENTS)),
        _section("Refusals", _refusals()),
    )
    return "\n".join(parts)


def catalogues() -> dict[str, dict[str, Any]]:
    """Import all refusal catalogues of the package; returns them by module name."""
    root = Path(horae.__path__[0])
    names = (
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in root.rglob("*.py")
        if "refusals" in path.parts or "CATALOGUE: Final = RefusalCatalogue(" in path.read_text(encoding="utf-8")
    )
    found = {name: getattr(import_module(name), "CATALOGUE", None) for name in sorted(names)}
    return {name: catalogue for name, catalogue in found.items() if catalogue}


def _refusals() -> str:
    tables = [
        f"### {name}\n\n" + _table(("code", "message", "hint"), _entries(catalogue))
        for name, catalogue in catalogues().items()
    ]
    return "A stable code, a sentence and a hint, in English (here) and Chinese.\n\n" + "\n".join(tables)


def _entries(catalogue: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield code, message and hint of each entry; its last four fields are the sentences in both languages."""
    for code, entry in sorted(catalogue.items()):
        message, hint = tuple(entry)[-4:-2]
        yield f"`{code}`", _plain(message), _plain(hint)


def _settings() -> str:
    return _table(("setting", "environment", "default", "meaning", "中文"), map(_setting, SETTINGS))


def _setting(setting: Setting) -> tuple[str, ...]:
    variables = ", ".join(f"`{variable}`" for variable in setting.variables)
    default = "none" if setting.default in (None, ()) else f"`{setting.default}`"
    return f"`{setting.path}`", variables, default, _plain(setting.meaning), _plain(full_width(setting.meaning_zh))


def _exits() -> Iterator[tuple[str, ...]]:
    for code in ExitCode:
        yield str(code.value), f"`{code.name}`", EXITS[code]


def _errors() -> Iterator[tuple[str, ...]]:
    for kind, answer in ERROR_MAPPINGS.items():
        yield f"`{kind.__name__}`", str(answer.exit.value), str(answer.status), answer.title, answer.title_zh


def _named(column: str, names: Iterable[Any], meanings: dict[Any, str]) -> str:
    return _table((column, "meaning"), ((f"`{name.value}`", meanings[name]) for name in names))


def _both(column: str, names: Iterable[Any], sentences: dict[Any, tuple[str, str]]) -> str:
    rows = ((f"`{name.value}`", *map(_plain, sentences[name])) for name in names)
    return _table((column, "English", "中文"), rows)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heading, ("---",) * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Escape Markdown syntax in the text of a table cell."""
    shown = text.replace("{{", "{").replace("}}", "}").replace("\n", " ")
    for mark in "|*<_":
        shown = shown.replace(mark, "\\" + mark)
    return shown


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
    write_schemas()
