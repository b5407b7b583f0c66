"""`horae overview`, `lanes`, `lane`: state of the deployment, and the concurrency limits of lanes."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ....model.ids import SHORT_DIGITS, SHORT_TASK_DIGITS
from ....model.lanes.lane import MAX_LANE_LIMIT, LaneUse
from ....model.lanes.rate import parse_rate
from ....model.reason import Reason, reason_phrase
from ....model.refusals import refuse
from ....model.run import Run
from ....service.runs.overview import Need, NeedKind, Overview
from ....wire.overview import lane_json, overview_json
from ....wire.tasks.task import next_due
from ...command import Command
from ...messages import messages
from ...output.command_hints import command_line
from ...output.formats import duration_message, exact_duration, in_brackets, next_times, short_duration, sign_of
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...parameters import INTEGER
from ...session.command_session import CommandSession, display_location, has_store, run_in_memory, run_in_session
from .lane_detail import show_lane, show_lanes

_MAX_UPCOMING = 5


@click.command("overview", cls=Command)
def overview(out: Printer) -> None:
    """Show the state of all tasks and nodes at a glance."""
    there = has_store(out)
    found, names, zone = run_in_session(out, _load) if there else run_in_memory(out, _load)
    if not there:
        out.note(messages.NO_TASKS_YET, path=display_location(out))
    if out.json:
        out.data(overview_json(found, out.language))
    elif out.quiet:
        out.ids([facts.task.id for facts in found.upcoming])
    else:
        for label, cell in overview_rows(out, found, zone, names):
            out.row(label, cell)


async def _load(app: CommandSession) -> tuple[Overview, dict[str, str], str]:
    found = await app.service.overview.now(app.principal)
    return found, {each: task.name for each, task in (await app.tasks_of(found.running)).items()}, app.zone


def overview_rows(out: Printer, found: Overview, zone: str, names: Mapping[str, str]) -> list[tuple[str, Cell]]:
    """Return the overview as labelled rows; `names`: names of the running tasks by id."""
    counts = " · ".join(outcome_count(out, state.value, number) for state, number in found.tasks.items() if number)
    outcomes = " · ".join(outcome_count(out, name, number) for name, number in found.outcomes.items())
    none = out.translate(messages.NOTHING)
    rows: list[tuple[str, Cell]] = [
        (out.translate(messages.TASKS), counts or none),
        (out.translate(messages.LAST_DAY), outcomes or none),
        (out.translate(messages.LATENESS), _lateness(out, found)),
        (out.translate(messages.SETTLED), _settlement_delay(out, found)),
        (out.translate(messages.DUE), out.translate(messages.WAITING_LINE, **found.waiting._asdict())),
        (out.translate(messages.NODES), _nodes(out, found)),
    ]
    rows += _label_first(out.translate(messages.RUNS), [_running_line(out, found, run, names) for run in found.running])
    rows += _label_first(out.translate(messages.UPCOMING), upcoming_lines(out, found, zone))
    rows += _label_first(out.translate(messages.NEEDS_LABEL), need_lines(out, found))
    return rows


def outcome_count(out: Printer, name: str, number: int) -> str:
    """`3 failed`; for skipped runs with the reason."""
    state, _, reason = name.partition(":")
    text = f"{number} {state}" if out.language == "en" else f"{number} 个{out.translate(messages.STATES[state])}"
    return f"{text}{in_brackets(reason_phrase(Reason(reason), out.language), out.language)}" if reason else text


def _label_first(label: str, cells: list[Cell]) -> list[tuple[str, Cell]]:
    return [(label if number == 0 else "", cell) for number, cell in enumerate(cells)]


def _lateness(out: Printer, found: Overview) -> Cell:
    late = found.lateness
    if found.on_time is None or late.p50 is None or late.p99 is None:
        return out.translate(messages.NOTHING)
    share = f"{100 * found.on_time:.2f} %"
    text = out.translate(messages.ON_TIME_LINE, share=share, number=late.total)
    figures = duration_message(f"p50 {exact_duration(late.p50)} · p99 {exact_duration(late.p99)}")
    return f"{text} · {figures.in_language(out.language)}"


def _settlement_delay(out: Printer, found: Overview) -> Cell:
    delay = found.settlement_delay
    if delay.p50 is None or delay.p99 is None or delay.longest is None:
        return out.translate(messages.NO_DELAY_MEASURED)
    facts = {"p50": delay.p50, "p99": delay.p99, "longest": delay.longest}
    lengths = {name: duration_message(exact_duration(length)) for name, length in facts.items()}
    return out.translate(messages.SETTLED_LINE, **lengths, number=delay.counted)


def _nodes(out: Printer, found: Overview) -> Cell:
    """Return the number of nodes, which only admins may read; other principals see whether there is one."""
    if found.nodes:
        draining = sum(1 for node in found.nodes if node.draining)
        return f"{len(found.nodes)}{out.translate(messages.OF_THEM_DRAINING, number=draining) if draining else ''}"
    return out.translate(messages.AN_ENGINE) if found.alive else StyledText(out.translate(messages.NO_ENGINE), "odd")


def _running_line(out: Printer, found: Overview, run: Run, names: Mapping[str, str]) -> Cell:
    age = "" if run.started is None else f"  {short_duration(found.at - run.started)}"
    short_id = out.short_ids((each.id for each in found.running), SHORT_DIGITS)[run.id]
    return [sign_of(run), f" {names.get(run.task_id, run.task_id)}{age}  ", StyledText(short_id, "dim")]


def upcoming_lines(out: Printer, found: Overview, zone: str) -> list[Cell]:
    coming = [(due, facts.task.name) for facts in found.upcoming if (due := next_due(facts)) is not None][
        :_MAX_UPCOMING
    ]
    times = next_times([due for due, _ in coming], zone, found.at, out.language)
    return [
        [f"{relative}  ", StyledText(f"{when}  ", "dim"), name]
        for (relative, when), (_, name) in zip(times, coming, strict=True)
    ]


def need_lines(out: Printer, found: Overview) -> list[Cell]:
    names = out.short_ids((need.facts.task.id for need in found.needs), SHORT_TASK_DIGITS)
    lines: list[Cell] = [
        [
            StyledText("! ", "odd"),
            f"{need.facts.task.name}: {out.translate(messages.NEEDS[need.kind.value])}  ",
            _command_for(out, need, names[need.facts.task.id]),
        ]
        for need in found.needs
    ]
    hidden = sum(found.needs_counts.values()) - len(found.needs)
    return [*lines, StyledText(out.translate(messages.MORE_NEEDS, number=hidden), "dim")] if hidden > 0 else lines


def _command_for(out: Printer, need: Need, name: str) -> StyledText:
    command = "approve" if need.kind is NeedKind.AWAITING_APPROVAL else "why"
    return StyledText(command_line(out, command, name), "dim")


@click.command("lanes", cls=Command)
def lanes(out: Printer) -> None:
    """List lanes: limit, rate, runs, entries that wait, and idle runs."""
    show_lanes(out)


@click.command("lane", cls=Command)
@click.argument("name", metavar="NAME")
@click.argument(
    "limit",
    type=INTEGER,
    required=False,
    metavar="[LIMIT]",
    help="Limit of concurrent runs; 0 lets nothing start. Without limit and rate, the lane is shown.",
)
@click.option("--rate", metavar="N/PERIOD", help="Largest number of starts in any period of this length: 100/1s.")
@click.option("--no-rate", is_flag=True, help="Remove the rate.")
def lane(out: Printer, *, name: str, limit: int | None, rate: str | None, no_rate: bool) -> None:
    """Show a lane and what waits in it, or set its limit or its rate."""
    if rate is not None and no_rate:
        raise refuse("bad_choice", name="rate", value=f"--rate {rate} --no-rate", allowed="--rate, --no-rate")
    if limit is None and rate is None and not no_rate:
        show_lane(out, name)
        return

    async def work(app: CommandSession) -> LaneUse:
        change = None if no_rate else "keep" if rate is None else parse_rate(rate)
        return await app.service.lanes.limit(app.principal, name, limit, rate=change)

    found = run_in_session(out, work, create=True)
    if out.json:
        out.data(lane_json(found))
    elif out.quiet:
        out.ids([found.name])
    else:
        if limit is not None or found.rate is None:
            words = messages.LANE_UNLIMITED if found.limit >= MAX_LANE_LIMIT else messages.LANE_SET
            out.line(out.translate(words, limit=found.limit, name=found.name))
        if found.rate is not None:
            out.line(out.translate(messages.LANE_RATE_SET, rate=found.rate, name=found.name))
