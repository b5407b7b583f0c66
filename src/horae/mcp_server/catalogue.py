"""Catalogue of tools: function, description, input and output schema, and annotations of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mcp_types import Tool as Listed
from mcp_types import ToolAnnotations

from ..schedule.after import MAX_PREDECESSORS, MODE_CHOICES
from ..wire.shapes.notation import BOOLEAN, INTEGER, OBJECT, TEXT, Schema, list_of, nullable
from . import control_tools, message_tools, read_tools, run_tools, task_tools
from .arguments import NANOCLAW_ARGUMENTS, NANOCLAW_ID
from .call import Tool
from .shapes import APPROVAL, DEFINITION, LINE, LOCAL, QUOTAS, RECEIPT, ROW, RUN, TASK, TIME, UTC, object_of

ID: Final[Schema] = {"type": "string", "description": "Id, name or key, or a unique part of it."}
WHEN: Final[Schema] = {
    "type": ["string", "array"],
    "items": TEXT,
    "description": (
        'When: "every weekday at 9am", "in 20 minutes", "0 9 * * 1-5", RRULE, 每天早上9点. '
        'Several: "every weekday at 9am and Sat at 11am", or a list.'
    ),
}
AFTER: Final[Schema] = {
    "type": "array",
    "items": TEXT,
    "minItems": 1,
    "maxItems": MAX_PREDECESSORS,
    "description": 'Instead of when: run it after these tasks, "backup", "backup:failed" or "backup:ended".',
}
MODE: Final[Schema] = {"enum": list(MODE_CHOICES), "description": "With after: any of them, or all."}
ZONE: Final[Schema] = {
    "type": "string",
    "description": "Zone of the person: Europe/Berlin. Default: the owner's (whoami).",
}
DO: Final[Schema] = {
    "type": ["string", "object"],
    "description": (
        "What to do: a text is a prompt to yourself, given when it is due; or one of "
        '{"http": {"url": …}}, {"command": ["program", …]}, {"function": "name"}, {"event": "topic"}, '
        'with "payload" beside it.'
    ),
}
NAME: Final[Schema] = {"type": "string", "description": "A short name."}
IF_LATE: Final[Schema] = {
    "type": "string",
    "description": 'If it could not run in time: "skip", "latest", "all", "merge", "latest within 1h".',
}
START_WITHIN: Final[Schema] = {
    "type": "string",
    "description": 'Skip a start later than this: "10m"; "never": no limit.',
}
GATE: Final[Schema] = {
    "type": "object",
    "description": 'Cheap check before each run: {"command": ["check"]}, http or function; {}: none.',
}
NOTIFY: Final[Schema] = {
    "type": "object",
    "description": 'Tell people: {"to": ["ops"]}; {}: none.',
}
WHERE: Final[Schema] = {"type": "object", "description": 'Labels of its node: {"gpu": "a100"}.'}
LANE: Final[Schema] = {"type": "string", "description": 'Lane that bounds its runs; "": none.'}
LANES: Final[Schema] = {"type": "array", "items": TEXT, "description": "Further lanes; []: none."}
SYSTEM: Final[Schema] = {"type": "boolean", "description": "System tasks instead."}
CHAIN: Final[Schema] = {"type": "boolean", "description": "With its chain."}
DRY_RUN: Final[Schema] = {"type": "boolean", "description": "Only say what it would mean; write nothing."}
CURSOR: Final[Schema] = {"type": "string", "description": "next_cursor of the answer before."}
STREAM: Final[Schema] = {"type": "string", "description": "Stream, such as chat:12."}
GROUP: Final[Schema] = {"type": "string", "description": "Or a group's folder."}
LIMIT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most (20)."}


class ToolEntry(NamedTuple):
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


TOOLS: Final[Mapping[str, ToolEntry]] = {
    "schedule_task": ToolEntry(
        task_tools.schedule_task,
        "Make a task. With a key, saying the same again changes nothing and saying it otherwise changes that task. "
        "Read means and next_runs back to the person.",
        _input_schema(
            ("do",),
            when=WHEN,
            after=AFTER,
            mode=MODE,
            do=DO,
            name=NAME,
            zone=ZONE,
            if_late=IF_LATE,
            start_within=START_WITHIN,
            gate=GATE,
            where=WHERE,
            lane=LANE,
            lanes=LANES,
            notify=NOTIFY,
            key={"type": "string", "description": "Your own name for it: makes this call safe to repeat."},
            dry_run=DRY_RUN,
        ),
        object_of(
            task=TASK,
            change={"enum": ["new", "changed", "same"]},
            declared={
                "type": "array",
                "items": {"type": "string"},
                "description": "Fields that came from the declaration of the function.",
            },
            dry_run=BOOLEAN,
            **APPROVAL,
            **RECEIPT,
        ),
        _changing("Schedule a task", again=False),
        NANOCLAW_ARGUMENTS,
    ),
    "list_tasks": ToolEntry(
        read_tools.list_tasks,
        "List tasks, one row each.",
        _input_schema(
            q={
                "type": "string",
                "description": "Words in the name; state:paused,failed kind:http label:team=ops.",
            },
            limit=LIMIT,
            cursor=CURSOR,
            system=SYSTEM,
        ),
        object_of(tasks=list_of(ROW), next_cursor=nullable(TEXT)),
        _read_only("List tasks"),
    ),
    "get_task": ToolEntry(
        read_tools.get_task,
        "One task in full: what it means, when it runs next, its state.",
        _input_schema(("id",), id=ID, chain=CHAIN),
        object_of(task=TASK, review=list_of(TEXT), **RECEIPT),
        _read_only("Look at a task"),
        NANOCLAW_ID,
    ),
    "explain_task": ToolEntry(
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
        object_of(
            task=TEXT,
            task_id=TEXT,
            at=UTC,
            at_local=LOCAL,
            verdict=TEXT,
            sentence=TEXT,
            reason=nullable(TEXT),
            outage=nullable(OBJECT),
            runs=list_of(RUN),
            suggested_calls=list_of(object_of(tool=TEXT, arguments=OBJECT)),
        ),
        _read_only("Explain what a task did"),
        NANOCLAW_ID,
    ),
    "update_task": ToolEntry(
        task_tools.update_task,
        "Change a task; only what you say changes, and nothing runs for past times.",
        _input_schema(
            ("id",),
            id=ID,
            when=WHEN,
            after=AFTER,
            mode=MODE,
            do=DO,
            name=NAME,
            zone={"type": "string", "description": "A new zone for its wall times."},
            if_late=IF_LATE,
            start_within=START_WITHIN,
            gate=GATE,
            where=WHERE,
            lane=LANE,
            lanes=LANES,
            notify=NOTIFY,
            version={"type": "integer", "minimum": 1, "maximum": 2**53, "description": "Only if it still has this."},
            dry_run=DRY_RUN,
        ),
        object_of(
            before=object_of(**DEFINITION),
            task=TASK,
            changed=list_of(TEXT),
            removed=list_of(TIME),
            added=list_of(TIME),
            dry_run=BOOLEAN,
            **APPROVAL,
            **RECEIPT,
        ),
        _changing("Change a task", again=True),
        (*NANOCLAW_ID, *NANOCLAW_ARGUMENTS),
    ),
    "pause_task": ToolEntry(
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
        object_of(task=TASK),
        _changing("Pause a task", again=True),
        NANOCLAW_ID,
    ),
    "resume_task": ToolEntry(
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
        object_of(task=TASK, **APPROVAL, **RECEIPT),
        _changing("Resume a task", again=True),
        NANOCLAW_ID,
    ),
    "cancel_task": ToolEntry(
        control_tools.cancel_task,
        "End a task; its history stays. restore_task brings it back.",
        _input_schema(("id",), id=ID),
        object_of(task=TASK),
        _changing("Cancel a task", again=True, destroys=True),
        NANOCLAW_ID,
    ),
    "restore_task": ToolEntry(
        control_tools.restore_task,
        "Undo the cancel of a task, within 30 days.",
        _input_schema(("id",), id=ID),
        object_of(task=TASK),
        _changing("Restore a task", again=True),
        NANOCLAW_ID,
    ),
    "run_task_now": ToolEntry(
        control_tools.run_task_now,
        "Run a task once more, now, beside its schedule.",
        _input_schema(
            ("id",),
            id=ID,
            wait_seconds={"type": "integer", "minimum": 0, "maximum": 60, "description": "Wait so long for its end."},
            input={"description": "JSON, instead of the payload of the task, for this run alone."},
            merge={"type": "object", "description": "Changes of the payload for this run alone; null removes a field."},
            gate_only={"type": "boolean", "description": "Ask its gate alone: the verdict is the result of the run."},
        ),
        object_of(
            task_id=TEXT,
            run_id=TEXT,
            ended=BOOLEAN,
            run={**RUN, "type": ["object", "null"]},
            warnings=RECEIPT["warnings"],
        ),
        _changing("Run a task now", again=False, outside=True),
        NANOCLAW_ID,
    ),
    "list_runs": ToolEntry(
        run_tools.list_runs,
        "List runs, newest first, also skipped ones with the reason.",
        _input_schema(
            task={"type": "string", "description": "Only of this task: its id, name or key."},
            state={"type": "string", "description": "failed; or several: failed,timed_out,lost."},
            limit=LIMIT,
            cursor=CURSOR,
            system=SYSTEM,
        ),
        object_of(runs=list_of(RUN), next_cursor=nullable(TEXT)),
        _read_only("List runs"),
    ),
    "get_run": ToolEntry(
        run_tools.get_run,
        "One run in full, with the last lines of its log.",
        _input_schema(
            ("id",),
            id={"type": "string", "description": "The id of the run."},
            log_tail={"type": "integer", "minimum": 0, "maximum": 100, "description": "So many last lines (0)."},
            chain=CHAIN,
        ),
        object_of(run=RUN, lines=list_of(LINE)),
        _read_only("Look at a run"),
    ),
    "preview_schedule": ToolEntry(
        task_tools.preview_schedule,
        "What a schedule means and its next five times; makes nothing. Where it is ambiguous, choices lists the readings.",
        _input_schema(("when",), when=WHEN, zone=ZONE),
        object_of(
            means=nullable(TEXT),
            zone=nullable(TEXT),
            next_runs=RECEIPT["next_runs"],
            warnings=RECEIPT["warnings"],
            schedule=nullable(OBJECT),
            choices=list_of(object_of(when=TEXT, means=nullable(TEXT))),
        ),
        _read_only("Preview a schedule"),
    ),
    "send_message": ToolEntry(
        message_tools.send_message,
        "Append a message to a stream, or send it to a chat.",
        _input_schema(
            ("text",),
            stream=STREAM,
            group=GROUP,
            text={"type": "string", "description": "To 64 kB."},
            id={"type": "string", "description": "Your id: again, it sends nothing."},
        ),
        object_of(stream=TEXT, number=INTEGER, delivery=nullable(TEXT)),
        _changing("Send a message", again=False),
    ),
    "read_messages": ToolEntry(
        message_tools.read_messages,
        "Read messages of a stream, oldest first; marks none handled.",
        _input_schema(
            stream=STREAM,
            group=GROUP,
            after={"type": "integer", "minimum": 0, "description": "Only higher numbers."},
            limit=LIMIT,
        ),
        object_of(
            stream=TEXT,
            owner=TEXT,
            after=INTEGER,
            last=INTEGER,
            messages=list_of(OBJECT),
            gaps=list_of(OBJECT),
            next_after=nullable(INTEGER),
        ),
        _read_only("Read messages"),
    ),
    "list_groups": ToolEntry(
        message_tools.list_groups,
        "List chat groups with an agent, and their streams.",
        _input_schema(cursor=CURSOR),
        object_of(groups=list_of(OBJECT), next_cursor=nullable(TEXT)),
        _read_only("List groups"),
    ),
    "whoami": ToolEntry(
        read_tools.whoami,
        "Who you are here: owner, zone, limits, and what is left of them.",
        _input_schema(),
        object_of(
            owner=TEXT,
            agent=nullable(TEXT),
            admin=BOOLEAN,
            zone=nullable(TEXT),
            scopes=list_of(TEXT),
            quotas=QUOTAS,
            active_tasks=INTEGER,
            active_tasks_left=nullable(INTEGER),
            engine_running=nullable(BOOLEAN),
            now=UTC,
            now_local=nullable(LOCAL),
        ),
        _read_only("Who am I"),
    ),
}


def list_tools() -> list[Listed]:
    """Return the tools in the protocol's form."""
    return [
        Listed(
            # The annotations have the title: the list of tools is part of every prompt, and stays short.
            name=name,
            description=entry.description,
            input_schema=entry.input_schema,
            output_schema=entry.output_schema,
            annotations=entry.annotations,
        )
        for name, entry in TOOLS.items()
    ]


def input_schema_of(name: str) -> Mapping[str, Any] | None:
    entry = TOOLS.get(name)
    return None if entry is None else entry.input_schema
