"""`horae next` and `horae explain`: ask a schedule, without any task."""

from __future__ import annotations

import typer

from ..choices import Fold, Gap, Language
from ..clock import SystemClock
from .failure import language_for, wants_json

MOST_FIRES = 1000


_TEXT = typer.Argument(..., metavar="TEXT", help='When: "every weekday at 9am", "0 9 * * 1-5", 每天早上9点.')
_ZONE = typer.Option(
    None,
    "--zone",
    "--tz",
    help="Where the text names no zone: Europe/Berlin. Default: HORAE_ZONE, else this machine's.",
)
_AFTER = typer.Option(None, "--after", help="Look from here on (not included). Default: now.")
_LANG = typer.Option(None, "--lang", help="Language of the answer. Default: that of the text, else of the environment.")
_JSON = typer.Option(False, "--json", help="Answer as JSON.")


def next_fires(  # noqa: PLR0917 - typer calls it by name
    text: list[str] = _TEXT,
    zone: str | None = _ZONE,
    after: str | None = _AFTER,
    until: str | None = typer.Option(None, "--until", help="Look up to here (included)."),
    number: int = typer.Option(5, "-n", "--number", min=1, max=MOST_FIRES, help="How many fires at the most."),
    gap: Gap | None = typer.Option(None, "--gap", help="When the clock skips the time: run next, shift or skip."),
    fold: Fold | None = typer.Option(None, "--fold", help="When the clock shows it twice: first, last or both."),
    lang: Language | None = _LANG,
    json: bool = _JSON,
) -> None:
    """Show when a schedule fires next."""
    from .asking import Question, ask  # noqa: PLC0415 - `--help` does without
    from .render import show_fires, show_json  # noqa: PLC0415

    said = " ".join(text)
    question = Question(said, zone, lang or language_for(said), after, until, number, gap, fold)
    answer = ask(question, SystemClock().now())
    show_json(answer) if json or wants_json([]) else show_fires(answer)


def explain(
    text: list[str] = _TEXT,
    zone: str | None = _ZONE,
    lang: Language | None = _LANG,
    json: bool = _JSON,
) -> None:
    """Say what a schedule means, with its JSON and what may surprise."""
    from .asking import Question, ask  # noqa: PLC0415 - `--help` does without
    from .render import show_explanation, show_json  # noqa: PLC0415

    said = " ".join(text)
    answer = ask(Question(said, zone, lang or language_for(said)), SystemClock().now())
    show_json(answer) if json or wants_json([]) else show_explanation(answer)
