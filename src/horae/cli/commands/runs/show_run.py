"""`horae show RUN`: all fields of one run, with its error, its result and its last log lines; and the verdict of a gate."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, Final, NamedTuple

from ....lifecycle.explain.explanation import is_requested
from ....model.agents.budget import format_amount
from ....model.agents.usage import RunUsage
from ....model.handled import Handled
from ....model.lanes.idle import IdleRun, describe_yield
from ....model.reason import describe_reason
from ....model.run import Run
from ....model.task import Task
from ....ports.journal import NumberedLine
from ....ports.store import RunFilter
from ....wire.runs import handled_json, idle_json, result_of, run_json, usage_json
from ...lookup import FoundRun, find_run
from ...messages import messages
from ...messages.refusals import refuse
from ...output.formats import (
    error_style,
    error_text,
    exact_duration,
    first_line,
    full_time,
    planned_text,
    sign_of,
    state_of_run,
)
from ...output.printer import Printer, json_text
from ...output.run_tail import RunTail, follow_lines
from ...output.styled_text import Style, StyledText
from ...session.command_session import CommandSession, run_in_session

_MAX_LINES: Final = 20


class RunDetails(NamedTuple):
    """A run with its last log lines `said`; `lines` is the number of all lines."""

    found: FoundRun
    said: tuple[NumberedLine, ...]
    lines: int
    zone: str
    requested: bool = False
    """The attempt was requested by a manual retry."""
    idle: IdleRun | None = None
    usage: RunUsage | None = None
    handled: tuple[Handled, ...] = ()


def show_run(out: Printer, name: str) -> None:
    shown = run_in_session(out, lambda app: _load(app, name))
    run, task = shown.found.run, shown.found.facts.task
    if out.json:
        idle = idle_json(shown.idle, out.language)
        out.data(
            run_json(run, task.name, task.schedule.zone, out.language)
            | {"idle": idle, "usage": usage_json(shown.usage), "handled": handled_json(shown.handled)}
        )
    elif out.quiet:
        out.ids([run.id])
    else:
        _show(out, shown)


async def _load(app: CommandSession, name: str) -> RunDetails:
    found = await find_run(app, name)
    last: deque[NumberedLine] = deque(maxlen=_MAX_LINES)
    number = 0
    async for line in follow_lines(app, found.run.id, follow=False):
        last.append(line)
        number += 1
    idle = await app.service.runs.idle(app.principal, found.run.id) if found.run.live else None
    usage = await app.service.runs.usage(app.principal, found.run.id)
    handled = await app.service.runs.handled(app.principal, found.run.id)
    requested, zone = await _is_requested(app, found), found.zone or app.zone
    return RunDetails(found, tuple(last), number, zone, requested, idle, usage, handled)


async def _is_requested(app: CommandSession, found: FoundRun) -> bool:
    run = found.run
    if run.attempt == 1:
        return False
    page = await app.service.runs.page(
        app.principal, RunFilter(None, run.task_id, since=run.planned, until=run.planned)
    )
    before = [each for each in page.items if each.origin is run.origin and each.attempt == run.attempt - 1]
    return any(is_requested(found.facts.task, run, each) for each in before)


def _show(out: Printer, shown: RunDetails) -> None:
    run, task = shown.found.run, shown.found.facts.task
    out.line((sign_of(run), " ", StyledText(task.name, "bold"), "  ", StyledText(run.id, "dim")))
    state = out.translate(
        messages.ATTEMPT,
        state=state_of_run(run, out.language),
        number=run.attempt,
        origin=messages.ON_REQUEST if shown.requested else messages.ORIGINS[run.origin.value],
    )
    out.row(out.translate(messages.STATE), state)
    if run.reason is not None:
        out.row("", describe_reason(run.reason, out.language))
    if shown.idle is not None:
        since = full_time(shown.idle.since, shown.zone, out.language)
        asked = shown.idle.yield_reason
        end = "" if asked is None else f" · {describe_yield(asked, out.language)}"
        out.row(out.translate(messages.IDLE), out.translate(messages.IDLE_SINCE, since=since) + end)
    out.row(out.translate(messages.PLANNED), planned_text(run, shown.zone, out.language))
    if run.chain is not None and run.chain.root is not None:
        root = run.chain.root
        out.row(out.translate(messages.AFTER_RUNS), "  ".join(run.chain.parents))
        out.row(out.translate(messages.ROOT), f"{root.task_id} · {full_time(root.planned, shown.zone, out.language)}")
    _show_times(out, run, shown.zone)
    if shown.usage is not None:
        out.row(out.translate(messages.USAGE), usage_line(out, shown.usage))
    for number, each in enumerate(shown.handled):
        out.row(out.translate(messages.HANDLED) if number == 0 else "", handled_line(out, each))
    if run.input is not None and run.input.is_given:
        label = messages.MERGED_INPUT if run.input.mode == "merge" else messages.INPUT
        show_lines(out, out.translate(label), json_text(json.loads(run.input.value), indent=2))
    style = error_style(run)
    label = messages.ERROR if style == "bad" else messages.GATE_WORDS
    show_lines(out, out.translate(label), error_text(run, out.language), style)
    if run.result_json is not None:
        result = result_of(run)
        show_lines(
            out, out.translate(messages.RESULT), result if isinstance(result, str) else json_text(result, indent=2)
        )
    if shown.said:
        out.row(out.translate(messages.SAID), StyledText(_count_line(out, shown), "dim"))
        tail = RunTail(out, shown.zone, None)
        for line in shown.said:
            tail.show(line)


def usage_line(out: Printer, usage: RunUsage) -> str:
    """Return tokens, cost and model in one line, as far as they are known."""
    parts = []
    if usage.tokens is not None:
        tokens = {"input": f"{usage.input_tokens or 0:,}", "output": f"{usage.output_tokens or 0:,}"}
        parts.append(out.translate(messages.USAGE_TOKENS, **tokens))
    if usage.cost_micros is not None:
        amount = format_amount("cost", usage.cost_micros)
        parts.append(out.translate(messages.USAGE_COST_AT_LEAST, cost=amount) if usage.unpriced else amount)
    elif usage.tokens is not None:
        parts.append(out.translate(messages.USAGE_COST_UNKNOWN))
    if usage.unpriced is not None:
        parts.append(out.translate(messages.USAGE_UNPRICED, model=usage.unpriced))
    if usage.model is not None:
        parts.append(usage.model)
    parts.append(out.translate(messages.USAGE_TURNS, turns=usage.turns))
    return " · ".join(parts)


def handled_line(out: Printer, handled: Handled) -> str:
    """Return the messages of one stream that a run has handled: `chat:12  1-3  bot`."""
    stream, reader, first, last = handled
    numbers = str(first) if first == last else f"{first}-{last}"
    return out.translate(messages.HANDLED_NUMBERS, stream=stream, numbers=numbers, reader=reader)


def _show_times(out: Printer, run: Run, zone: str) -> None:
    if run.started is None:
        return
    late = "" if run.lateness is None else f"  +{exact_duration(run.lateness)}"
    node = "" if run.node is None else f" · {run.node}"
    out.row(out.translate(messages.BEGAN), f"{full_time(run.started, zone, out.language)}{late}{node}")
    if run.ended is not None:
        took = f"  {exact_duration(run.ended - run.started)}"
        out.row(out.translate(messages.OVER), f"{full_time(run.ended, zone, out.language)}{took}")


def _count_line(out: Printer, shown: RunDetails) -> str:
    if len(shown.said) == shown.lines:
        return out.translate(messages.ALL_LINES, number=shown.lines)
    return out.translate(messages.LAST_LINES, shown=len(shown.said), number=shown.lines, id=shown.found.run.id)


def show_lines(out: Printer, label: str, text: str, style: Style = "") -> None:
    """Print every line of the text as a row; the first row has the label."""
    for number, line in enumerate(text.strip("\n").splitlines()):
        out.row(label if number == 0 else "", StyledText(line, style))


def show_gate_verdict(out: Printer, ended: Run, task: Task) -> None:
    """Show the verdict, the result of the check. Refuses a check that has none: the gate failed, or the run was stopped."""
    verdict = ended.result
    if out.json:
        out.data(run_json(ended, task.name, task.schedule.zone, out.language))
    elif out.quiet:
        out.ids([ended.id])
    elif isinstance(verdict, dict):
        _show_fields(out, verdict)
    if not isinstance(verdict, dict):
        english, chinese = (first_line(error_text(ended, language)) for language in ("en", "zh"))
        raise refuse("gate_not_checked", id=ended.id, problem=(english, chinese))


def _show_fields(out: Printer, verdict: dict[str, Any]) -> None:
    sign, message = ("✓", messages.GATE_OPEN) if verdict["run"] else ("–", messages.GATE_CLOSED)
    out.line(f"{sign} {out.translate(message)}")
    for name, label in messages.GATE_FIELDS.items():
        value = verdict.get(name)
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            show_lines(out, out.translate(label), text)
