"""`horae completion`: a script for a shell, and the answers that it asks for: commands, options, names that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from ...errors import HoraeError
from ..command import command
from ..messages.completion_scripts import SCRIPTS
from ..output.printer import Printer, write
from ..output.styled_text import replace_unprintable

if TYPE_CHECKING:
    from ..session.command_session import CommandSession

_Answers: TypeAlias = Callable[[str, Printer], Iterator[tuple[str, str]]]
"""(what was begun, which store or server) to values with a word on each."""
_MOST: Final = 200
_ANSWER: Final = "answer"


def register(app: typer.Typer) -> None:
    command(app, "completion")(completion)


def completion(
    out: Printer,
    behind: tuple[str, ...],
    shell: str = typer.Argument(..., metavar="bash|zsh|fish|powershell", help="Which shell the script is for."),
) -> None:
    """Print a completion script: source <(horae completion bash)."""
    import sys  # noqa: PLC0415 - only to print

    if shell == _ANSWER:
        from ..main import app  # noqa: PLC0415 - it loads us

        for value, note in answers(typer.main.get_command(app), list(behind) or [""], out):
            write(sys.stdout, f"{replace_unprintable(value)}\t{replace_unprintable(note)}".rstrip("\t"))
        return
    if shell not in SCRIPTS:
        from ...model.refusals import refuse  # noqa: PLC0415

        raise refuse("bad_choice", name="shell", value=shell, allowed=", ".join(SCRIPTS))
    if out.json:
        out.data({"shell": shell, "script": SCRIPTS[shell]})
    else:
        write(sys.stdout, SCRIPTS[shell], end="")


def answers(root: Any, words: list[str], out: Printer) -> Iterator[tuple[str, str]]:
    """What could stand in the place of the last word, with a word on each."""
    *before, begun = words
    place = replace(out, store=_said(words, "--store") or out.store, server=_said(words, "--server") or out.server)
    here, rest = _command_at(root, before)
    wanted = _awaited(here, rest)
    if wanted is not None:
        found = _values(here, wanted, begun, place)
    elif begun.startswith("-"):
        found = _options(here)
    elif hasattr(here, "list_commands"):
        found = _commands(root, here)
    else:
        found = _values(here, _next_argument(here, rest), begun, place)
    return (each for each in found if each[0].startswith(begun))


def _command_at(root: Any, words: list[str]) -> tuple[Any, list[str]]:
    """The command that was typed so far, and the words that are its own."""
    here, rest, words = root, [], list(words)
    while words:
        word = words.pop(0)
        if not hasattr(here, "list_commands"):
            rest.append(word)
        elif word.startswith("-"):
            option = _option(here, word)
            rest = [word]
            if option is not None and not option.is_flag and words:
                words.pop(0)
                rest = []
        else:
            inner = here.get_command(None, word)
            if inner is None:
                return here, [word]
            here, rest = inner, []
    return here, rest


def _option(here: Any, word: str) -> Any:
    return next((each for each in here.params if word in (*each.opts, *each.secondary_opts)), None)


def _awaited(here: Any, rest: list[str]) -> Any:
    """The option before this word, when it wants a value."""
    option = _option(here, rest[-1]) if rest and rest[-1].startswith("-") else None
    return None if option is None or option.is_flag else option


def _next_argument(here: Any, rest: list[str]) -> Any:
    taken, words = 0, list(rest)
    while words:
        word = words.pop(0)
        option = _option(here, word) if word.startswith("-") else None
        if option is not None and not option.is_flag and words:
            words.pop(0)
        elif not word.startswith("-"):
            taken += 1
    arguments = [each for each in here.params if each.param_type_name == "argument"]
    return arguments[min(taken, len(arguments) - 1)] if arguments else None


def _said(words: list[str], option: str) -> str | None:
    """What an option was given on this very line."""
    return next((value for name, value in pairwise(words) if name == option and value), None)


def _options(here: Any) -> Iterator[tuple[str, str]]:
    for each in here.params:
        if each.param_type_name == "option" and not getattr(each, "hidden", False):
            yield from ((name, each.help or "") for name in (*each.opts, *each.secondary_opts) if name.startswith("--"))
    yield "--help", ""


def _commands(root: Any, here: Any) -> Iterator[tuple[str, str]]:
    if here is root:
        from ..command_table import COMMANDS  # noqa: PLC0415

        yield from ((name, each.does.en) for name, each in COMMANDS.items())
        return
    for name in here.list_commands(None):
        yield name, here.get_command(None, name).get_short_help_str()


# --- values --------------------------------------------------------------------------------------------------------


def _values(here: Any, parameter: Any, begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    """Known by its own name, or with that of its command where others have one like it."""
    if parameter is None:
        return
    if parameter.param_type_name == "argument":
        names = [f"{here.name} {parameter.name}", parameter.name]
    else:
        plain = [name.removeprefix("--") for name in parameter.opts]
        names = [*(f"{here.name} {name}" for name in plain), *plain]
    known = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if known is not None:
        yield from known(begun, out)


def _zones(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from importlib.resources import files  # noqa: PLC0415

    names = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    yield from ((name, "") for name in sorted(names))


def _states(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ...model.task import TaskState  # noqa: PLC0415

    yield from ((name, "") for name in TaskState)


def _run_states(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ...model.run import RunState  # noqa: PLC0415

    yield from ((name, "") for name in RunState)


def _tasks(begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    from ...ports.store import TaskFilter  # noqa: PLC0415

    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.tasks.page(app.principal, TaskFilter(text=begun or None), None, _MOST)
        return [(each.task.name, each.task.id) for each in page.items]

    yield from _looked_up(out, read)


def _owners(_begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.accounts.page(app.principal, None, _MOST)
        return [(each.name, each.role.value) for each in page.items]

    yield from _looked_up(out, read)


def _tokens(_begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.tokens.page(app.principal, None, None, _MOST)
        return [(each.id, each.name) for each in page.items if each.revoked is None]

    yield from _looked_up(out, read)


def _webhooks(_begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.webhooks.page(app.principal, None, _MOST)
        return [(each.id, each.url) for each in page.items]

    yield from _looked_up(out, read)


def _contexts(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ..session.contexts import read_contexts  # noqa: PLC0415

    try:
        yield from ((each.name, each.server) for each in read_contexts().known)
    except HoraeError:
        return


def _scopes(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ...model.accounts.principal import Scope  # noqa: PLC0415

    yield from ((scope.value, "") for scope in Scope)


def _lanes(_begun: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        return [(lane.name, f"{lane.used}/{lane.limit}") for lane in await app.service.lanes.all(app.principal)]

    yield from _looked_up(out, read)


def _looked_up(out: Printer, read: Callable[[CommandSession], Any]) -> list[tuple[str, str]]:
    """Whatever is wrong with the store, a key that completes is not the place to say so."""
    from ..session.command_session import run_in_session  # noqa: PLC0415

    try:
        found: list[tuple[str, str]] = run_in_session(out, read)
    except (HoraeError, OSError):
        return []
    return found


def _one_of(*names: str) -> _Answers:
    def answer(_begun: str, _out: Printer) -> Iterator[tuple[str, str]]:
        yield from ((name, "") for name in names)

    return answer


_KNOWN: Final[dict[str, _Answers]] = {
    "task": _tasks,
    "run": _tasks,
    "lane": _lanes,
    "lane name": _lanes,
    "owner": _owners,
    "whose": _owners,
    "token": _tokens,
    "webhook": _webhooks,
    "context": _contexts,
    "server": _contexts,
    "scope": _scopes,
    "role": _one_of("admin", "member", "viewer"),
    "zone": _zones,
    "state": _states,
    "runs state": _run_states,
    "shell": _one_of(*SCRIPTS),
    "topic": _one_of("schedules", "zones", "queries", "json", "exit-codes"),
    "format": _one_of("auto", "jsonl", "crontab", "nanoclaw", "openclaw"),
    "kind": _one_of("http", "command", "function", "event"),
    "lang": _one_of("en", "zh"),
    "color": _one_of("auto", "always", "never"),
    "overlap": _one_of("skip", "queue", "queue_all", "replace", "parallel"),
    "missed": _one_of("skip", "latest", "all", "merge"),
    "guarantee": _one_of("at_least_once", "at_most_once"),
    "gap": _one_of("next", "shift", "skip"),
    "fold": _one_of("first", "last", "both"),
}
