"""`horae next` and `horae explain`: ask a schedule, without any task; or that of a task."""

from __future__ import annotations

from dataclasses import replace

import typer

from ...choices import Fold, Gap
from ...clock import SystemClock
from ..command import command
from ..messages.refusals import refuse
from ..output.printer import Printer
from ..output.schedule_text import Answer, answer_json, show_explanation, show_fires
from ..schedule_question import Question, ask, ask_task
from ..session.command_session import run_in_session

MOST_FIRES = 1000


_TEXT = typer.Argument(None, metavar="TEXT", help='When: "every weekday at 9am", "0 9 * * 1-5", 每天早上9点.')
_ZONE = typer.Option(
    None,
    "--zone",
    "--tz",
    help="Where the text names no zone: Europe/Berlin. Default: HORAE_ZONE, else this machine's.",
)
_TASK = typer.Option(None, "--task", help="The schedule of this task instead of a text.")


def register(app: typer.Typer) -> None:
    command(app, "next")(next_fires)
    command(app, "explain")(explain)


def next_fires(
    out: Printer,
    *,
    text: list[str] | None = _TEXT,
    task: str | None = _TASK,
    zone: str | None = _ZONE,
    after: str | None = typer.Option(None, "--after", help="Look from here on (not included). Default: now."),
    until: str | None = typer.Option(None, "--until", help="Look up to here (included)."),
    number: int = typer.Option(5, "-n", "--number", min=1, max=MOST_FIRES, help="How many fires at the most."),
    gap: Gap | None = typer.Option(None, "--gap", help="When the clock skips the time: run next, shift or skip."),
    fold: Fold | None = typer.Option(None, "--fold", help="When the clock shows it twice: first, last or both."),
) -> None:
    """Show when a schedule fires next."""
    answer = _answer(out, text, task, Question("", zone, out.language, after, until, number, gap, fold))
    out.data(answer_json(answer)) if out.json else show_fires(answer, out)


def explain(
    out: Printer, *, text: list[str] | None = _TEXT, task: str | None = _TASK, zone: str | None = _ZONE
) -> None:
    """Say what a schedule means, with its JSON and what may surprise."""
    answer = _answer(out, text, task, Question("", zone, out.language))
    out.data(answer_json(answer)) if out.json else show_explanation(answer, out)


def _answer(out: Printer, text: list[str] | None, task: str | None, question: Question) -> Answer:
    now = SystemClock().now()
    if task is not None and not text:
        facts = run_in_session(out, lambda app: app.service.tasks.find_by_name(app.principal, task))
        return ask_task(facts.task, facts.status, question, now)
    if not text or task is not None:
        raise refuse("text_or_task")
    return ask(replace(question, text=" ".join(text)), now)
