"""`horae completion`: prints shell completion scripts, and completes commands, options and stored names for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from ....errors import HoraeError
from ...command import Command
from ...messages.completion_scripts import SCRIPTS
from ...output.printer import Printer, write
from ...output.styled_text import replace_unprintable

if TYPE_CHECKING:
    from ...session.command_session import CommandSession

_Completer: TypeAlias = Callable[[str, Printer], Iterator[tuple[str, str]]]
"""Maps (prefix, printer with store or server) to values with a description."""
_MAX_VALUES: Final = 200
_COMPLETE: Final = "answer"


@click.command("completion", cls=Command, takes_program=True)
@click.argument("shell", metavar="bash|zsh|fish|powershell", help="Shell of the script.")
def completion(out: Printer, *, program: tuple[str, ...], shell: str) -> None:
    """Print a completion script: source <(horae completion bash)."""
    import sys  # noqa: PLC0415 - only to print

    if shell == _COMPLETE:
        from ...main import app  # noqa: PLC0415 - main imports this module

        for value, note in complete_words(app, list(program) or [""], out):
            write(sys.stdout, f"{replace_unprintable(value)}\t{replace_unprintable(note)}".rstrip("\t"))
        return
    if shell not in SCRIPTS:
        from ....model.refusals import refuse  # noqa: PLC0415

        raise refuse("bad_choice", name="shell", value=shell, allowed=", ".join(SCRIPTS))
    if out.json:
        out.data({"shell": shell, "script": SCRIPTS[shell]})
    else:
        write(sys.stdout, SCRIPTS[shell], end="")


def complete_words(root: Any, words: list[str], out: Printer) -> Iterator[tuple[str, str]]:
    """Yield completions of the last word, each with a description."""
    *before, prefix = words
    target = replace(
        out, store=_typed_value(words, "--store") or out.store, server=_typed_value(words, "--server") or out.server
    )
    command, own_words = _find_command(root, before)
    option = _option_before(command, own_words)
    if option is not None:
        found = _values(command, option, prefix, target)
    elif prefix.startswith("-"):
        found = _options(command)
    elif hasattr(command, "list_commands"):
        found = _commands(root, command)
    else:
        found = _values(command, _next_argument(command, own_words), prefix, target)
    return (each for each in found if each[0].startswith(prefix))


def _find_command(root: Any, words: list[str]) -> tuple[Any, list[str]]:
    """Return the typed command and the words after its name."""
    command, own_words, words = root, [], list(words)
    while words:
        word = words.pop(0)
        if not hasattr(command, "list_commands"):
            own_words.append(word)
        elif word.startswith("-"):
            option = _find_option(command, word)
            own_words = [word]
            if option is not None and not option.is_flag and words:
                words.pop(0)
                own_words = []
        else:
            inner = command.get_command(None, word)
            if inner is None:
                return command, [word]
            command, own_words = inner, []
    return command, own_words


def _find_option(command: Any, word: str) -> Any:
    return next((each for each in command.params if word in (*each.opts, *each.secondary_opts)), None)


def _option_before(command: Any, own_words: list[str]) -> Any:
    """Return the option before the last word where it takes a value."""
    option = _find_option(command, own_words[-1]) if own_words and own_words[-1].startswith("-") else None
    return None if option is None or option.is_flag else option


def _next_argument(command: Any, own_words: list[str]) -> Any:
    taken, words = 0, list(own_words)
    while words:
        word = words.pop(0)
        option = _find_option(command, word) if word.startswith("-") else None
        if option is not None and not option.is_flag and words:
            words.pop(0)
        elif not word.startswith("-"):
            taken += 1
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return arguments[min(taken, len(arguments) - 1)] if arguments else None


def _typed_value(words: list[str], option: str) -> str | None:
    """Return the value of an option on the typed line."""
    return next((value for name, value in pairwise(words) if name == option and value), None)


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for each in command.params:
        if each.param_type_name == "option" and not getattr(each, "hidden", False):
            yield from ((name, each.help or "") for name in (*each.opts, *each.secondary_opts) if name.startswith("--"))
    yield "--help", ""


def _commands(root: Any, command: Any) -> Iterator[tuple[str, str]]:
    if command is root:
        from ...command_table import COMMANDS  # noqa: PLC0415

        yield from ((name, each.does.en) for name, each in COMMANDS.items())
        return
    for name in command.list_commands(None):
        yield name, command.get_command(None, name).get_short_help_str()


# --- values --------------------------------------------------------------------------------------------------------


def _values(command: Any, parameter: Any, prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    """Yield values by the name of the parameter, or by command and parameter where the name is ambiguous."""
    if parameter is None:
        return
    if parameter.param_type_name == "argument":
        names = [f"{command.name} {parameter.name}", parameter.name]
    else:
        plain = [name.removeprefix("--") for name in parameter.opts]
        names = [*(f"{command.name} {name}" for name in plain), *plain]
    completer = next((_COMPLETERS[name] for name in names if name in _COMPLETERS), None)
    if completer is not None:
        yield from completer(prefix, out)


def _zones(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from importlib.resources import files  # noqa: PLC0415

    names = files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    yield from ((name, "") for name in sorted(names))


def _states(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ....model.task import TaskState  # noqa: PLC0415

    yield from ((name, "") for name in TaskState)


def _run_states(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ....model.run import RunState  # noqa: PLC0415

    yield from ((name, "") for name in RunState)


def _tasks(prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    from ....ports.store import TaskFilter  # noqa: PLC0415

    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.tasks.page(app.principal, TaskFilter(text=prefix or None), None, _MAX_VALUES)
        return [(each.task.name, each.task.id) for each in page.items]

    yield from _read_or_empty(out, read)


def _owners(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.accounts.page(app.principal, None, _MAX_VALUES)
        return [(each.name, each.role.value) for each in page.items]

    yield from _read_or_empty(out, read)


def _tokens(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.tokens.page(app.principal, None, None, _MAX_VALUES)
        return [(each.id, each.name) for each in page.items if each.revoked is None]

    yield from _read_or_empty(out, read)


def _sessions(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.sessions.page(app.principal, None, None, _MAX_VALUES)
        return [(each.id, each.client) for each in page.items]

    yield from _read_or_empty(out, read)


def _webhooks(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        page = await app.service.webhooks.page(app.principal, None, _MAX_VALUES)
        return [(each.id, each.url) for each in page.items]

    yield from _read_or_empty(out, read)


def _contexts(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ...session.contexts import read_contexts  # noqa: PLC0415

    try:
        yield from ((each.name, each.server) for each in read_contexts().known)
    except HoraeError:
        return


def _scopes(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
    from ....model.accounts.principal import Scope  # noqa: PLC0415

    yield from ((scope.value, "") for scope in Scope)


def _lanes(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
    async def read(app: CommandSession) -> list[tuple[str, str]]:
        return [(lane.name, f"{lane.used}/{lane.limit}") for lane in await app.service.lanes.all(app.principal)]

    yield from _read_or_empty(out, read)


def _views(list_name: str | None) -> _Completer:
    def answer(_prefix: str, out: Printer) -> Iterator[tuple[str, str]]:
        async def read(app: CommandSession) -> list[tuple[str, str]]:
            return [(view.name, view.query) for view in await app.service.views.all(app.principal, list_name)]

        yield from _read_or_empty(out, read)

    return answer


def _read_or_empty(out: Printer, read: Callable[[CommandSession], Any]) -> list[tuple[str, str]]:
    """Read from the store or server; errors give no completions."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    try:
        found: list[tuple[str, str]] = run_in_session(out, read)
    except (HoraeError, OSError):
        return []
    return found


def _one_of(*names: str) -> _Completer:
    def answer(_prefix: str, _out: Printer) -> Iterator[tuple[str, str]]:
        yield from ((name, "") for name in names)

    return answer


_COMPLETERS: Final[dict[str, _Completer]] = {
    "task": _tasks,
    "run": _tasks,
    "lane": _lanes,
    "lane name": _lanes,
    "owner": _owners,
    "owner_name": _owners,
    "token": _tokens,
    "session": _sessions,
    "webhook": _webhooks,
    "view": _views("tasks"),
    "runs view": _views("runs"),
    "rm view": _views(None),
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
    "language": _one_of("en", "zh"),
    "color": _one_of("auto", "always", "never"),
    "overlap": _one_of("skip", "queue", "queue_all", "replace", "parallel"),
    "missed": _one_of("skip", "latest", "all", "merge"),
    "guarantee": _one_of("at_least_once", "at_most_once"),
    "gap": _one_of("next", "shift", "skip"),
    "fold": _one_of("first", "last", "both"),
}
