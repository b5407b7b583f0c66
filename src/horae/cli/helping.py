"""`horae help`: a topic on one screen, or what a command says of itself."""

from __future__ import annotations

from typing import Any

import typer

from .frame import command
from .out import Out, write


def register(app: typer.Typer) -> None:
    command(app, "help")(explain_topic)


def explain_topic(
    out: Out,
    topic: str | None = typer.Argument(None, metavar="[TOPIC|COMMAND]", help="Without it: which topics there are."),
) -> None:
    """Explain a topic: schedules, zones, queries, json, exit-codes; or a command."""
    import sys  # noqa: PLC0415 - only to print

    from ..model.refusals import refuse  # noqa: PLC0415
    from .commands import ALIASES, COMMANDS  # noqa: PLC0415
    from .topics import TOPICS  # noqa: PLC0415

    if topic is None:
        text = "".join(f"horae help {name}\n" for name in TOPICS)
    elif topic in TOPICS:
        text = TOPICS[topic].told(out.language)
    elif ALIASES.get(topic, topic) in COMMANDS:
        text = _of_command(ALIASES.get(topic, topic))
    else:
        raise refuse("bad_choice", name="topic", value=topic, allowed=", ".join(TOPICS))
    if out.json:
        out.data({"topic": topic, "text": text})
    else:
        write(sys.stdout, text, end="")


def _of_command(name: str) -> str:
    import click  # noqa: PLC0415

    from .main import app  # noqa: PLC0415 - it loads us

    root: Any = typer.main.get_command(app)
    found = root.get_command(None, name)
    return str(found.get_help(click.Context(found, info_name=f"horae {name}"))) + "\n"
