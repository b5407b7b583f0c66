"""Catalogue of tools: function, description, input and output schema, and annotations of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations

from . import control_tools, read_tools, run_tools, schedule_tools
from .call import Tool
from .shapes import (
    APPROVAL,
    DEFINITION,
    FLAG,
    LINE,
    LOCAL,
    NUMBER,
    OBJECT,
    QUOTAS,
    RECEIPT,
    ROW,
    RUN,
    TASK,
    TEXT,
    TIME,
    UTC,
    Schema,
    many,
    maybe,
    shape,
)
from .task_arguments import ORIGINALS, TASK_ID

ID: Final[Schema] = {"type": "string", "description": "Its id, name or key, or as much of it as is unique."}
WHEN: Final[Schema] = {
    "type": "string",
    "description": 'When: "every weekday at 9am", "in 20 minutes", "tomorrow 18:00", "0 9 * * 1-5", RRULE, 每天早上9点.',
}
ZONE: Final[Schema] = {
    "type": "string",
    "description": "Zone of the person you work for, such as Europe/Berlin. Default: the owner's; whoami tells it.",
}
DO: Final[Schema] = {
    "type": ["string", "object"],
    "description": (
        "What to do: a text is a prompt to yourself, told when it is due; or one of "
        '{"http": {"url": …}}, {"command": ["program", …]}, {"function": "name"}, {"event": "topic"}, '
        'with "payload" beside it.'
    ),
}
NAME: Final[Schema] = {"type": "string", "description": "A short name."}
IF_LATE: Final[Schema] = {
    "type": "string",
    "description": 'What if it could not run in time: "skip", "latest", "all", "merge", "latest within 1h".',
}
DRY_RUN: Final[Schema] = {"type": "boolean", "description": "Only say what it would mean; write nothing."}
CURSOR: Final[Schema] = {"type": "string", "description": "next_cursor of the answer before."}
LIMIT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most (20)."}


class Entry(NamedTuple):
    """`other_arguments` are argument names of other dialects, accepted but not listed."""

    tool: Tool
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: ToolAnnotations
    other_arguments: tuple[str, ...] = ()


def _input_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _read_only(title: str) -> ToolAnnotations:
    return ToolAnnotations(
        title=title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _changing(title: str, *, again: bool, destroys: bool = False, outside: bool = False) -> ToolAnnotations:
    """`again`: repeating the call has no further effect. `outside`: the call acts beyond Horae at once."""
    return ToolAnnotations(
        title=title,
        read_only_hint=False,
        destructive_hint=destroys,
        idempotent_hint=again,
        open_world_hint=outside,
    )


TOOLS: Final[Mapping[str, Entry]] = {
    "schedule_task": Entry(
        schedule_tools.schedule_task,
        "Make a task. With a key, saying the same again changes nothing and saying it otherwise changes that task. "
        "Read means and next_runs back to the person.",
        _input_schema(
            ("when", "do"),
            when=WHEN,
            do=DO,
            name=NAME,
            zone=ZONE,
            if_late=IF_LATE,
            key={"type": "string", "description": "Your own name for it: makes this call safe to repeat."},
            dry_run=DRY_RUN,
        ),
        shape(
            task=TASK,
            change={"enum": ["new", "changed", "same"]},
            declared={
                "type": "array",
                "items": {"type": "string"},
                "description": "Fields that came from the declaration of the function.",
            },
            dry_run=FLAG,
            **APPROVAL,
            **RECEIPT,
        ),
        _changing("Schedule a task", again=False),
        ORIGINALS,
    ),
    "list_tasks": Entry(
        read_tools.list_tasks,
        "List tasks, one row each.",
        _input_schema(
            q={
                "type": "string",
                "description": "Words in the name; state:paused,failed -state:active kind:http label:team=ops.",
            },
            limit=LIMIT,
            cursor=CURSOR,
        ),
        shape(tasks=many(ROW), next_cursor=maybe(TEXT)),
        _read_only("List tasks"),
    ),
    "get_task": Entry(
        read_tools.get_task,
        "One task in full: what it means, when it runs next, its state.",
        _input_schema(("id",), id=ID),
        shape(task=TASK, review=many(TEXT), **RECEIPT),
        _read_only("Look at a task"),
        TASK_ID,
    ),
    "explain_task": Entry(
        read_tools.explain_task,
        "Why a task did, or did not, run at some moment; without one, the newest.",
        _input_schema(
            ("id",),
            id=ID,
            at={
                "type": "string",
                "description": '"today at 9am", "yesterday", "last Monday 18:00", 昨天早上9点, "2026-11-15 02:00", "5m ago".',
            },
            zone={"type": "string", "description": "Zone of at. Default: the task's own."},
        ),
        shape(
            task=TEXT,
            task_id=TEXT,
            at=UTC,
            at_local=LOCAL,
            verdict=TEXT,
            sentence=TEXT,
            reason=maybe(TEXT),
            outage=maybe(OBJECT),
            runs=many(RUN),
            suggested_calls=many(shape(tool=TEXT, arguments=OBJECT)),
        ),
        _read_only("Explain what a task did"),
        TASK_ID,
    ),
    "update_task": Entry(
        schedule_tools.update_task,
        "Change a task; only what you say changes, and nothing runs for past times.",
        _input_schema(
            ("id",),
            id=ID,
            when=WHEN,
            do=DO,
            name=NAME,
            zone={"type": "string", "description": "A new zone for its wall times."},
            if_late=IF_LATE,
            version={"type": "integer", "minimum": 1, "maximum": 2**53, "description": "Only if it still has this."},
            dry_run=DRY_RUN,
        ),
        shape(
            before=shape(**DEFINITION),
            task=TASK,
            changed=many(TEXT),
            removed=many(TIME),
            added=many(TIME),
            dry_run=FLAG,
            **APPROVAL,
            **RECEIPT,
        ),
        _changing("Change a task", again=True),
        (*TASK_ID, *ORIGINALS),
    ),
    "pause_task": Entry(
        control_tools.pause_task,
        "Let nothing of a task start until it is resumed.",
        _input_schema(
            ("id",),
            id=ID,
            reason={"type": "string", "description": "Why: shown wherever the task is. Say it where you know it."},
            until={
                "type": "string",
                "description": 'When it goes on by itself, in the zone of the task: "tomorrow 09:00", "in 2h".',
            },
        ),
        shape(task=TASK),
        _changing("Pause a task", again=True),
        TASK_ID,
    ),
    "resume_task": Entry(
        control_tools.resume_task,
        "Let a paused task go on.",
        _input_schema(
            ("id",),
            id=ID,
            missed={
                "type": "string",
                "enum": ["skip", "latest", "all"],
                "description": "What was missed meanwhile: skip it (default), run the latest once, or all in order.",
            },
        ),
        shape(task=TASK, **APPROVAL, **RECEIPT),
        _changing("Resume a task", again=True),
        TASK_ID,
    ),
    "cancel_task": Entry(
        control_tools.cancel_task,
        "End a task for good. Its history stays; it cannot be resumed, only made again.",
        _input_schema(("id",), id=ID),
        shape(task=TASK),
        _changing("Cancel a task", again=True, destroys=True),
        TASK_ID,
    ),
    "run_task_now": Entry(
        control_tools.run_task_now,
        "Run a task once more, now, beside its schedule.",
        _input_schema(
            ("id",),
            id=ID,
            wait_seconds={"type": "integer", "minimum": 0, "maximum": 60, "description": "Wait so long for its end."},
        ),
        shape(
            task_id=TEXT,
            run_id=TEXT,
            ended=FLAG,
            run={**RUN, "type": ["object", "null"]},
            warnings=RECEIPT["warnings"],
        ),
        _changing("Run a task now", again=False, outside=True),
        TASK_ID,
    ),
    "list_runs": Entry(
        run_tools.list_runs,
        "List runs, newest first: also those that were skipped, each with its reason.",
        _input_schema(
            task={"type": "string", "description": "Only of this task: its id, name or key."},
            state={"type": "string", "description": "failed; or several: failed,timed_out,lost."},
            limit=LIMIT,
            cursor=CURSOR,
        ),
        shape(runs=many(RUN), next_cursor=maybe(TEXT)),
        _read_only("List runs"),
    ),
    "get_run": Entry(
        run_tools.get_run,
        "One run in full, with the last lines of its log.",
        _input_schema(
            ("id",),
            id={"type": "string", "description": "The id of the run."},
            log_tail={"type": "integer", "minimum": 0, "maximum": 100, "description": "So many last lines (0)."},
        ),
        shape(run=RUN, lines=many(LINE)),
        _read_only("Look at a run"),
    ),
    "preview_schedule": Entry(
        schedule_tools.preview_schedule,
        "What a schedule means and its next five times, without making anything. Where it could be meant in more than "
        "one way, choices lists them.",
        _input_schema(("when",), when=WHEN, zone=ZONE),
        shape(
            means=maybe(TEXT),
            zone=maybe(TEXT),
            next_runs=RECEIPT["next_runs"],
            warnings=RECEIPT["warnings"],
            schedule=maybe(OBJECT),
            choices=many(shape(when=TEXT, means=maybe(TEXT))),
        ),
        _read_only("Preview a schedule"),
    ),
    "whoami": Entry(
        read_tools.whoami,
        "Who you are here: owner, zone, limits, and what is left of them.",
        _input_schema(),
        shape(
            owner=TEXT,
            agent=maybe(TEXT),
            admin=FLAG,
            zone=maybe(TEXT),
            scopes=many(TEXT),
            quotas=QUOTAS,
            active_tasks=NUMBER,
            active_tasks_left=maybe(NUMBER),
            engine_running=maybe(FLAG),
            now=UTC,
            now_local=maybe(LOCAL),
        ),
        _read_only("Who am I"),
    ),
}


def listed() -> list[Listed]:
    """Return the tools in the protocol's form."""
    return [
        Listed(
            name=name,
            title=entry.annotations.title,
            description=entry.description,
            input_schema=entry.input_schema,
            output_schema=entry.output_schema,
            annotations=entry.annotations,
        )
        for name, entry in TOOLS.items()
    ]


def arguments_of(name: str) -> Mapping[str, Any] | None:
    entry = TOOLS.get(name)
    return None if entry is None else entry.input_schema
