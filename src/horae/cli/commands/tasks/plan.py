"""`horae plan`: plans of Zero: add, list, show, skip, pause, reset, close, remove and import them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from ...command import CommandGroup
from ...messages import station_messages as words
from ...output.formats import NOTHING, full_time
from ...output.printer import Printer
from ...output.styled_text import Cell, Style, StyledText, replace_unprintable
from ...output.table import Fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....message import Message
    from ....service.plans.plans import ImportResult, PlanView
    from ...session.command_session import CommandSession, Services

_TYPES: Final = ("none", "time", "second", "minute", "hour", "day", "week", "month")
_FILTERS: Final = ("none", "time", "delay", "week", "month")
_FITS: Final = (Fit(), Fit(1), Fit(), Fit(), Fit(1), Fit(), Fit(2, cut=12))
_STYLES: Final[dict[str, Style]] = {"error": "bad", "retrying": "odd", "paused": "odd", "skipping": "odd"}
_plan_argument: Final = click.argument("plan", metavar="PLAN", help="Id of the plan in hexadecimal, or msg:STATION:ID.")

plan_commands: Final = CommandGroup("plan", help="Manage plans: messages to stations at planned times, as in Zero.")


@plan_commands.command("add")
@click.argument("station", metavar="STATION", help="The station that executes it.")
@click.option("--command", "command", required=True, help="What the station executes; for a publisher the title.")
@click.option("--type", "plan_type", type=click.Choice(_TYPES), default="none", help="Kind of time.")
@click.option("--value", "plan_value", type=int, default=0, help="Delay, weekday (Sunday 0) or day of the month.")
@click.option("--repeat", "plan_repet", type=int, default=1, help="Number of executions; -1 without end.")
@click.option("--time", "plan_time", type=int, default=0, help="Unix seconds; 0 is now.")
@click.option("--no-keep", "no_keep", is_flag=True, help="Make up for missed executions; otherwise they are skipped.")
@click.option("--skip", "skip_set", type=int, default=0, help="Number of executions to skip first; -1 skips all.")
@click.option("--description", help="Title of the plan.")
@click.option("--argument", help="Argument of the command.")
@click.option("--context", help="Context of the command.")
@click.option("--id", "plan_id", help="Id of the plan, a whole number; without it, one is made.")
def add(out: Printer, *, station: str, **fields: Any) -> None:
    """Publish a plan to a station."""
    from ....model.plans.describe import describe_plan  # noqa: PLC0415 - `--help` does without
    from ...session.command_session import run_in_session  # noqa: PLC0415

    given = {"station": station, **{name: value for name, value in fields.items() if value is not None}}
    view = run_in_session(out, lambda app: app.service.plans.add(app.principal, given), create=True)
    if out.json:
        _print_json(out, view)
    elif out.quiet:
        out.ids([view.plan.hex_id])
    else:
        sentence = describe_plan(view.plan, out.language)
        out.line(("✓ ", out.translate(words.ADDED, name=view.plan.name, sentence=sentence)))


@plan_commands.command("list")
@click.option("--closed", is_flag=True, help="Plans that were closed within a day.")
@click.option("--station", help="Only those of this station.")
@click.option("--type", "kind", type=click.Choice(_FILTERS), help="Only those with this kind of time.")
def list_plans(out: Printer, *, closed: bool, station: str | None, kind: str | None) -> None:
    """List plans with their states and counters."""
    from ....service.plans.plans import TYPE_FILTERS, PlanFilter  # noqa: PLC0415
    from ....wire.plans import plan_json  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    plan_filter = PlanFilter(closed, station, None if kind is None else TYPE_FILTERS[kind])

    async def work(app: CommandSession) -> tuple[list[PlanView], str]:
        return await app.service.plans.all(app.principal, plan_filter), app.zone

    views, zone = run_in_session(out, work) if has_store(out) else ([], "UTC")
    if out.json:
        out.data([plan_json(each, out.language) for each in views])
    elif out.quiet:
        out.ids([each.plan.hex_id for each in views])
    elif views:
        out.table(out.translate(words.PLAN_TITLES).split("|"), [_row(out, each, zone) for each in views], _FITS)
    else:
        out.note(words.NO_PLANS)


def _row(out: Printer, view: PlanView, zone: str) -> list[Cell]:
    from ....model.plans.describe import counter_text  # noqa: PLC0415

    status = view.status
    return [
        view.plan.hex_id,
        view.plan.station,
        _state(out, view),
        counter_text(status.state, status.skip_set, status.skip_num) or NOTHING,
        _time(out, status.plan_time, zone),
        str(status.real_repet),
        replace_unprintable(view.plan.description) or NOTHING,
    ]


def _state(out: Printer, view: PlanView) -> StyledText:
    name = view.status.state.name.lower()
    return StyledText(out.translate(words.STATES[name]), _STYLES.get(name, "good"))


def _time(out: Printer, seconds: int, zone: str) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return NOTHING if not seconds else full_time(datetime.fromtimestamp(seconds, UTC), zone, out.language)


@plan_commands.command("message")
@_plan_argument
def message(out: Printer, *, plan: str) -> None:
    """Show one plan with its message and its newest results."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[PlanView, str]:
        return await app.service.plans.get(app.principal, plan), app.zone

    view, zone = run_in_session(out, work)
    if out.json:
        _print_json(out, view)
    elif out.quiet:
        out.ids([view.plan.hex_id])
    else:
        _show(out, view, zone)


def _show(out: Printer, view: PlanView, zone: str) -> None:
    from ....model.plans.describe import counter_text, describe_plan  # noqa: PLC0415

    plan, status = view.plan, view.status
    rows: list[tuple[Message, str | StyledText]] = [
        (words.NAME, plan.name),
        (words.STATION, plan.station),
        (words.WHEN, describe_plan(plan, out.language)),
        (words.STATE, _state(out, view)),
        (words.COUNTER, counter_text(status.state, status.skip_set, status.skip_num) or NOTHING),
        (words.NEXT, _time(out, status.plan_time, zone)),
        (words.DONE, str(status.real_repet)),
        (words.LAST, status.last_state.name.lower()),
        (words.EXECUTED, _time(out, status.exec_time, zone)),
        (words.TASK, view.task_id),
        *((words.FRAMES, replace_unprintable(f"{kind} {text}")) for kind, text in plan.frames),
    ]
    out.line((replace_unprintable(plan.description) or plan.hex_id,))
    for label, value in rows:
        out.line((f"  {out.translate(label)}: ", value))


@plan_commands.command("skip")
@_plan_argument
@click.argument("number", metavar="NUMBER", type=int, default=1, help="Number of occurrences; -1 skips all, 0 none.")
def skip(out: Printer, *, plan: str, number: int) -> None:
    """Skip the next occurrences of a plan; they count."""
    _act(out, lambda service, app: service.plans.skip(app.principal, plan, number))


@plan_commands.command("pause")
@_plan_argument
def pause(out: Printer, *, plan: str) -> None:
    """Take a plan out of the queue until it is reset."""
    _act(out, lambda service, app: service.plans.pause(app.principal, plan))


@plan_commands.command("reset")
@_plan_argument
def reset(out: Printer, *, plan: str) -> None:
    """Put a paused plan, or one in error, back into the queue."""
    _act(out, lambda service, app: service.plans.reset(app.principal, plan))


@plan_commands.command("close")
@_plan_argument
def close(out: Printer, *, plan: str) -> None:
    """End a plan; it is shown for a day."""
    _act(out, lambda service, app: service.plans.close(app.principal, plan))


def _act(out: Printer, act: Callable[[Services, CommandSession], Any]) -> None:
    from ...session.command_session import run_in_session  # noqa: PLC0415

    view = run_in_session(out, lambda app: act(app.service, app))
    if out.json:
        _print_json(out, view)
    elif out.quiet:
        out.ids([view.plan.hex_id])
    else:
        state = out.translate(words.STATES[view.status.state.name.lower()])
        out.line(("✓ ", out.translate(words.CHANGED, name=view.plan.name, state=state)))


@plan_commands.command("remove", asks=True)
@_plan_argument
def remove(out: Printer, *, plan: str) -> None:
    """Delete a closed plan with its history."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    out.confirm(words.REMOVE, name=plan)
    view = run_in_session(out, lambda app: app.service.plans.remove(app.principal, plan))
    if out.json:
        out.data({"removed": view.plan.hex_id})
    else:
        out.line(("✓ ", out.translate(words.PLAN_REMOVED, name=view.plan.name)))


@plan_commands.command("import")
@click.argument("file", metavar="FILE", help="A JSON list of plan messages; - reads standard input.")
def import_file(out: Printer, *, file: str) -> None:
    """Import the stored plans of a Zero installation."""
    import json  # noqa: PLC0415 - `--help` does without
    import sys  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from ....model.plans.refusals import refuse  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    try:
        values = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        wanted = "a file with a JSON list of plan messages"
        wanted_zh = "内容为计划消息 JSON 列表的文件"
        raise refuse("bad_plan_field", name="FILE", value=file, wanted=wanted, wanted_zh=wanted_zh)
    results = run_in_session(out, lambda app: app.service.plans.import_plans(app.principal, values), create=True)
    if out.json:
        out.data([_import_json(out, each) for each in results])
        return
    for each in results:
        if each.refusal is not None:
            said = each.refusal.in_language(out.language)
            out.note(words.NOT_IMPORTED, name=each.name, problem=f"{said.message} {said.hint}")
        elif each.task_id is None:
            out.note(words.LEFT_OUT, name=each.name)
    done = [each.task_id for each in results if each.task_id is not None]
    if out.quiet:
        out.ids(done)
    else:
        out.line(("✓ ", out.translate(words.IMPORTED, count=len(done))))


def _import_json(out: Printer, result: ImportResult) -> dict[str, Any]:
    said = None if result.refusal is None else result.refusal.in_language(out.language)
    return {
        "name": result.name,
        "task_id": result.task_id,
        "code": None if result.refusal is None else result.refusal.code,
        "error": None if said is None else said.message,
        "hint": None if said is None else said.hint,
    }


def _print_json(out: Printer, view: PlanView) -> None:
    from ....wire.plans import plan_json  # noqa: PLC0415

    out.data(plan_json(view, out.language, is_whole=True))
