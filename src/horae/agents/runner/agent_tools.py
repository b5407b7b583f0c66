"""Tools of an agent: send messages and manage tasks. Arguments are checked here, and by the host again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

_TEXT: Final = {"type": "string"}
_TASK_ID: Final = {"type": "string", "description": "Id of the task, as list_tasks shows it."}
_SCHEDULE: Final[Mapping[str, Any]] = {
    "schedule_type": {"type": "string", "enum": ["cron", "interval", "once"]},
    "schedule_value": {
        "type": "string",
        "description": 'cron: "0 9 * * *". interval: milliseconds, "3600000". once: local time without a zone suffix, '
        '"2026-02-01T15:30:00". All times are local times of the group.',
    },
    "when": {
        "type": "string",
        "description": 'Instead of both: the schedule in words, "every weekday at 9:00", "in 20 minutes", "每天早上9点".',
    },
}
_SCRIPT: Final = {
    "type": "string",
    "description": "Bash script that runs before the agent is woken; its last line is "
    '{"wakeAgent": true|false, "data": …}.',
}
_MODE: Final = {
    "type": "string",
    "enum": ["group", "isolated", "series"],
    "default": "group",
    "description": "group: with the history of the chat. isolated: a new session for each run. series: continues the "
    "session of the task's last run.",
}
_ZONE_SUFFIX: Final = re.compile(r"(?:[Zz]|[+-]\d{2}:?\d{2})\s*$")
_CRON_FIELDS: Final = re.compile(r"\s*@[a-z]+\s*|\s*\S+(?:\s+\S+){4,6}\s*")
_MAX_PROMPT: Final = 50


class BadArguments(Exception):  # noqa: N818 - of the caller
    pass


class Tool(NamedTuple):
    """One tool. `request` returns the document for the host, `done` the sentence after it was carried out."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: Sequence[str]
    request: Callable[[Mapping[str, Any]], dict[str, Any]]
    done: str
    box: str = "tasks"
    main_only: bool = False

    def to_json(self) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }
        return {"name": self.name, "description": self.description, "inputSchema": schema}

    def check(self, given: Any) -> Mapping[str, Any]:
        """Return the arguments without nulls; raises `BadArguments`, which names what would work."""
        if not isinstance(given, dict):
            raise BadArguments("The arguments must be a JSON object.")
        arguments = {name: value for name, value in given.items() if value is not None}
        for name in arguments:
            if name not in self.properties:
                known = ", ".join(self.properties) or "none"
                raise BadArguments(f"{self.name} has no argument {name[:40]!r}. Its arguments are: {known}.")
        for name in self.required:
            if name not in arguments:
                raise BadArguments(f"The argument {name!r} of {self.name} is missing.")
        for name, value in arguments.items():
            _check_argument(name, value, self.properties[name])
        return arguments


def _check_argument(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    expected: type = bool if schema["type"] == "boolean" else str
    if not isinstance(value, expected):
        raise BadArguments(f"{name} must be a {'boolean' if expected is bool else 'text'}.")
    if "enum" in schema and value not in schema["enum"]:
        raise BadArguments(f"{name} must be one of: {', '.join(schema['enum'])}.")


def check_schedule(arguments: Mapping[str, Any], *, is_required: bool) -> dict[str, Any]:
    """Return the fields of the schedule. The host reads it with all its rules; this finds the common mistakes at once."""
    kind, value, when = (arguments.get(name) for name in ("schedule_type", "schedule_value", "when"))
    if when is not None:
        if kind is not None or value is not None:
            raise BadArguments("Give either when, or schedule_type and schedule_value.")
        return {"when": when}
    if kind is None and value is None and not is_required:
        return {}
    if value is None or (kind is None and is_required):
        raise BadArguments("Give schedule_type and schedule_value, or when.")
    match kind:
        case "cron" if not _CRON_FIELDS.fullmatch(value):
            raise BadArguments(f'Invalid cron: "{value}". Use format like "0 9 * * *" (daily 9am) or "*/5 * * * *".')
        case "interval" if not value.strip().isdecimal() or not int(value):
            raise BadArguments(
                f'Invalid interval: "{value}". Must be positive milliseconds (e.g., "300000" for 5 min).'
            )
        case "once":
            _check_once(value)
    return {name: each for name, each in (("schedule_type", kind), ("schedule_value", value)) if each is not None}


def _check_once(value: str) -> None:
    if _ZONE_SUFFIX.search(value) and "T" in value.upper():
        raise BadArguments(
            f'Timestamp must be local time without timezone suffix. Got "{value}", use a format like "2026-02-01T15:30:00".'
        )
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise BadArguments(f'Invalid timestamp: "{value}". Use a local time such as "2026-02-01T15:30:00".') from None


# --- requests --------------------------------------------------------------------------------------------------------


def _message(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "message", **arguments}


def _schedule(arguments: Mapping[str, Any]) -> dict[str, Any]:
    document = {
        "type": "schedule_task",
        "prompt": arguments["prompt"],
        **check_schedule(arguments, is_required=True),
        "context_mode": arguments.get("context_mode", "group"),
    }
    names = (("target_group_jid", "targetJid"), ("script", "script"), ("name", "name"))
    return document | {field: arguments[name] for name, field in names if name in arguments}


def _update(arguments: Mapping[str, Any]) -> dict[str, Any]:
    document = {"type": "update_task", "taskId": arguments["task_id"], **check_schedule(arguments, is_required=False)}
    return document | {
        name: arguments[name] for name in ("prompt", "script", "context_mode", "name") if name in arguments
    }


def _task_request(kind: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def request(arguments: Mapping[str, Any]) -> dict[str, Any]:
        others = {name: value for name, value in arguments.items() if name != "task_id"}
        return {"type": kind, "taskId": arguments["task_id"], **others}

    return request


def _register(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "register_group", "requiresTrigger": False, **arguments}


def _nothing(_arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _control(kind: str, description: str, done: str) -> Tool:
    return Tool(kind, description, {"task_id": _TASK_ID}, ("task_id",), _task_request(kind), done)


LIST_TASKS: Final = "list_tasks"
_TOOLS: Final = (
    Tool(
        "send_message",
        "Send a message to the chat at once, while you are still working: progress, or several messages. The result of a "
        "turn or task is sent to the chat by itself; do not send it again. Text in <internal> tags is not sent.",
        {"text": _TEXT, "sender": {**_TEXT, "description": "Name or role that the message is from."}},
        ("text",),
        _message,
        "Message sent.",
        box="messages",
    ),
    Tool(
        "schedule_task",
        "Schedule a task: at its times an agent gets the prompt, with all tools. What the agent answers IS sent to the "
        "chat; it wraps in <internal> what should not be. The answer says how the schedule was understood: check it.",
        {
            "prompt": {**_TEXT, "description": "What to do. For an isolated task: with all context that it needs."},
            **_SCHEDULE,
            "context_mode": _MODE,
            "script": _SCRIPT,
            "name": _TEXT,
            "target_group_jid": {**_TEXT, "description": "Main group only: chat of the group to prompt."},
        },
        ("prompt",),
        _schedule,
        "Task scheduled.",
    ),
    Tool(LIST_TASKS, "List the scheduled tasks of the group; the main group sees those of all.", {}, (), _nothing, ""),
    _control("pause_task", "Pause a task: it does not run until it is resumed.", "Task paused."),
    _control("resume_task", "Resume a paused task.", "Task resumed."),
    _control("cancel_task", "Cancel a task: it never runs again.", "Task cancelled."),
    Tool(
        "update_task",
        "Change a task in place, rather than cancelling it and scheduling another. Arguments that are left out stay.",
        {
            "task_id": _TASK_ID,
            "prompt": _TEXT,
            **_SCHEDULE,
            "script": {**_SCRIPT, "description": "New script; an empty text removes it."},
            "context_mode": {name: value for name, value in _MODE.items() if name != "default"},
            "name": _TEXT,
        },
        ("task_id",),
        _update,
        "Task updated.",
    ),
    _control("run_task", "Run a task once now; its schedule does not change.", "Run requested."),
    Tool(
        "why",
        "Explain why a task ran or did not run: the newest time, or the one that is given.",
        {"task_id": _TASK_ID, "at": {**_TEXT, "description": 'Local time, such as "2026-02-01 09:00".'}},
        ("task_id",),
        _task_request("why"),
        "",
    ),
    Tool(
        "register_group",
        "Main group only: register a chat of available_groups.json, so that its messages reach an agent.",
        {
            "jid": _TEXT,
            "name": _TEXT,
            "folder": {**_TEXT, "description": "Directory of the group, such as family-chat."},
            "trigger": {**_TEXT, "description": "Trigger word, such as @Andy."},
            "requiresTrigger": {"type": "boolean", "default": False},
        },
        ("jid", "name", "folder", "trigger"),
        _register,
        "Group registered.",
        main_only=True,
    ),
)


def tools_for(*, is_main: bool) -> Mapping[str, Tool]:
    """Return the tools by name. Those of the main group are left out for others, and the host refuses them, too."""
    return {tool.name: tool for tool in _TOOLS if is_main or not tool.main_only}


# --- texts -----------------------------------------------------------------------------------------------------------


def render_answer(tool: Tool, answer: Mapping[str, Any]) -> str:
    """Return the text of an accepted request: what the host has understood, and when it will run."""
    lines = [tool.done or str(answer.get("message", ""))]
    if tool.name == "send_message" and answer.get("parts") == 0:
        return f"{answer.get('message')}."
    task = answer.get("task")
    if isinstance(task, dict):
        lines += _task_lines(task)
    if isinstance(answer.get("run"), str):
        lines.append(f"Run: {answer['run']}")
    return "\n".join(lines)


def render_refusal(answer: Mapping[str, Any]) -> str:
    return (
        f"{answer.get('message', 'Refused.')} {answer.get('hint', '')}".strip() + f" [{answer.get('code', 'refused')}]"
    )


def _task_lines(task: Mapping[str, Any]) -> list[str]:
    lines = [f"Task: {task.get('id')} ({task.get('name')})", f"Schedule: {task.get('description')}"]
    fires = [each.get("at_local") for each in task.get("next_runs") or [] if isinstance(each, dict)]
    if task.get("awaiting_approval"):
        lines.append("It does not run before a person has approved it.")
    elif fires:
        lines.append(f"Next: {', '.join(map(str, fires))} ({task.get('zone')})")
    else:
        lines.append(f"State: {task.get('state')}; it has no next run.")
    warnings = [each.get("message") for each in task.get("warnings") or [] if isinstance(each, dict)]
    return lines + [f"Note: {each}" for each in warnings]


def render_tasks(tasks: Any) -> str:
    """Return one line for each task of the snapshot."""
    items = [each for each in tasks if isinstance(each, dict)] if isinstance(tasks, list) else []
    if not items:
        return "No scheduled tasks found."
    return "\n".join(["Scheduled tasks:", *map(_task_line, items)])


def _task_line(item: Mapping[str, Any]) -> str:
    prompt = " ".join(str(item.get("prompt") or item.get("name") or "").split())
    shown = prompt if len(prompt) <= _MAX_PROMPT else f"{prompt[:_MAX_PROMPT]}..."
    schedule = f"{item.get('schedule_type')}: {item.get('schedule_value')}"
    return f"- [{item.get('id')}] {shown} ({schedule}) - {item.get('status')}, next: {item.get('next_run') or 'N/A'}"
