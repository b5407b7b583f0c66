"""`horae next` and `horae explain`: next fires and meaning of a typed schedule, or of the schedule of a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import click

from ....choices import Fold, Gap
from ....clock import SystemClock
from ...command import Command
from ...messages.refusals import refuse
from ...output.printer import Printer
from ...output.schedule_text import Answer, answer_json, show_explanation, show_fires
from ...parameters import IntegerRange, one_of
from ...schedule_question import Question, answer_for_task, answer_question
from ...session.command_session import run_in_session

MOST_FIRES = 1000
_FIRES: Final = 5


_text_argument: Final = click.argument(
    "text", nargs=-1, metavar="TEXT", help='When: "every weekday at 9am", "0 9 * * 1-5", 每天早上9点.'
)
_zone_option: Final = click.option(
    "--zone", "--tz", help="Where the text names no zone: Europe/Berlin. Default: HORAE_ZONE, else this machine's."
)
_task_option: Final = click.option("--task", help="The schedule of this task instead of a text.")


@click.command("next", cls=Command)
@_text_argument
@_task_option
@click.option("--all", "-a", "everything", is_flag=True, help="The fires of all tasks, within a day or up to --until.")
@_zone_option
@click.option("--after", help="Look from here on (not included). Default: now.")
@click.option("--until", help="Look up to here (included).")
@click.option(
    "-n",
    "--number",
    type=IntegerRange(1, MOST_FIRES),
    help="Largest number of fires. Default: 5; with --all 20, and no more than 200.",
)
@click.option("--gap", type=one_of(Gap), help="When the clock skips the time: run next, shift or skip.")
@click.option("--fold", type=one_of(Fold), help="When the clock shows it twice: first, last or both.")
@click.option(
    "--system", is_flag=True, help="With --all: of system tasks, which Horae makes itself, instead of all others."
)
def next_fires(
    out: Printer,
    *,
    text: tuple[str, ...],
    task: str | None,
    everything: bool,
    zone: str | None,
    after: str | None,
    until: str | None,
    number: int | None,
    gap: Gap | None,
    fold: Fold | None,
    system: bool,
) -> None:
    """Show when a schedule fires next."""
    if everything:
        if text or task is not None or gap is not None or fold is not None:
            raise refuse("all_or_one")
        from .next_all import Window, show_all  # noqa: PLC0415 - a schedule needs no store

        show_all(out, Window(after, until, zone, number, system))
        return
    if system:
        raise refuse("system_without_all")
    question = Question("", zone, out.language, after, until, _FIRES if number is None else number, gap, fold)
    answer = _answer(out, text, task, question)
    out.data(answer_json(answer)) if out.json else show_fires(answer, out)


@click.command("explain", cls=Command)
@_text_argument
@_task_option
@_zone_option
def explain(out: Printer, *, text: tuple[str, ...], task: str | None, zone: str | None) -> None:
    """Explain what a schedule means, with its JSON and warnings."""
    answer = _answer(out, text, task, Question("", zone, out.language))
    out.data(answer_json(answer)) if out.json else show_explanation(answer, out)


def _answer(out: Printer, text: tuple[str, ...], task: str | None, question: Question) -> Answer:
    now = SystemClock().now()
    if task is not None and not text:
        facts = run_in_session(out, lambda app: app.service.tasks.find_by_name(app.principal, task))
        return answer_for_task(facts.task, facts.status, question, now)
    if not text or task is not None:
        raise refuse("text_or_task")
    return answer_question(replace(question, text=" ".join(text)), out.command_settings.base, now)
