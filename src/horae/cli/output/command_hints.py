"""Commands that are printed for the user to type next, as this one was called: same store, server and owner."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shlex import join, quote
from shutil import which
from typing import Any, Final

from ...errors import HoraeError
from ...runtime.process_settings import store_url
from ...runtime.stores import has_secret, mask_url, sqlite_path, without_password
from ..command_table import ALIASES, COMMANDS
from ..messages import messages
from .printer import Printer

NAME: Final = "horae"


def called_program() -> str:
    """Return `horae` if the shell finds this program under that name, else the program as it was called."""
    return program_for(sys.argv[0], sys.orig_argv[0] if sys.orig_argv else sys.executable, os.environ.get("PATH"))


@cache
def program_for(script: str, interpreter: str, path: str | None) -> str:
    """Return the program for this `sys.argv[0]` (`script`): the path of the installed command, or of `__main__.py` with
    `python -m horae`. For any other program, such as one that uses the library, it is `horae`."""
    file = Path(script)
    is_module = file.name == "__main__.py" and file.parent.name == NAME
    if not is_module and (file.stem != NAME or file.name == script):
        return NAME
    found = which(NAME, path=path)
    if found is not None and _is_same(found, sys.executable if is_module else script, beside=is_module):
        return NAME
    return f"{quote(interpreter)} -m {NAME}" if is_module else quote(script)


def _is_same(found: str, ours: str, *, beside: bool) -> bool:
    """Whether `found` is the same file as `ours`, or with `beside` in the same folder. A venv links to a shared interpreter,
    so a link in the last part of the path is not followed there."""
    if beside:
        return Path(found).parent.resolve() == Path(ours).parent.resolve()
    return Path(found).resolve() == Path(ours).resolve()


STORE_VARIABLE: Final = "HORAE_STORE"
_FROM_ENVIRONMENT: Final = f'"${STORE_VARIABLE}"'
_WITHOUT_STORE: Final = frozenset({"completion", "context", "explain", "help", "login", "logout", "move", "version"})
_AT_STORE: Final = frozenset({"db", "doctor", "mcp", "service", "up", "worker"})
"""Commands that work on a store only, not on a server."""
OWNER_COMMANDS: Final[dict[str, frozenset[str]]] = {
    "agent": frozenset({"show", "set", "stop", "restart"}),
    "messages": frozenset({"ls", "show", "read", "send", "set", "reader", "rm"}),
    "notify": frozenset({"add", "set", "test", "notices", "rm"}),
    "secret": frozenset({"set", "ls", "rm", "grant", "revoke"}),
    "session": frozenset({"ls"}),
    "station": frozenset({"allow", "rm"}),
    "token": frozenset({"make", "ls"}),
    "webhook": frozenset({"add"}),
}
"""Subcommands with `--owner`: a hint of the same family repeats the owner."""
_NAMES: Final = "|".join(sorted({*COMMANDS, *ALIASES}, key=len, reverse=True))
_SUBCOMMANDS: Final = "|".join(sorted({each for names in OWNER_COMMANDS.values() for each in names}))
_COMMAND: Final = re.compile(
    rf"(?<![A-Za-z0-9_/.\-])(?<!-m )horae[ ](?P<name>{_NAMES})(?![A-Za-z0-9_.\-])"
    rf"(?P<rest> (?:{_SUBCOMMANDS})(?![A-Za-z0-9_\-]))?"
)


def display_url(url: str) -> str:
    """Return the URL without its password; in the path of a file, text before an `@` is none."""
    return url if sqlite_path(url) is not None else mask_url(url)


def store_option(out: Printer, url: str) -> str:
    """Return the ` --store` option for this store, from the same folder; empty if it is the default store."""
    return "" if is_default_store(out, url) else f" --store {store_argument(url)}"


def store_argument(url: str) -> str:
    """Return the value of `--store` for this store, quoted for a shell and without a password.

    `"$HORAE_STORE"` is used only if the variable has this value, since the command would act on another store otherwise.
    """
    if not has_secret(url):
        return quote(url)
    if os.environ.get(STORE_VARIABLE, "").strip() == url:
        return _FROM_ENVIRONMENT
    return quote(without_password(url))


def omits_password(url: str) -> bool:
    """Whether `store_argument` returns this URL without its password."""
    return has_secret(url) and store_argument(url) != _FROM_ENVIRONMENT


def is_default_store(out: Printer, url: str) -> bool:
    """Whether the next command, typed in the same folder without `--store`, opens the same store."""
    from ..session.servers import server_of  # noqa: PLC0415 - it imports this package

    try:
        if server_of(Printer(command_settings=out.command_settings)) is not None:
            return False
        default = store_url(out.command_settings.base)
    except HoraeError:
        return False  # unreadable settings name no store
    paths = [sqlite_path(each) for each in (default, url)]
    if None in paths:
        return default == url
    return len({Path(str(path)).resolve() for path in paths}) == 1


def location_option(out: Printer) -> str:
    """Return the ` --server` or ` --store` option that the next command needs, without a password.

    Adds the URL to `out.left_out` if its password is missing.
    """
    if out.server is not None:
        return f" --server {quote(out.server)}"
    store = out.store
    if store is None or is_default_store(out, store):
        return ""
    if omits_password(store):
        out.left_out.add(store)
    return f" --store {store_argument(store)}"


def command_line(out: Printer, *words: str) -> str:
    """Return a command to type next, with the store or server of this one."""
    return complete_command(out, join((NAME, *words)))


def complete_command(out: Printer, command: str) -> str:
    """Complete the beginning of a command that is quoted already."""
    found = _COMMAND.match(command)
    return command if found is None else _complete_match(out, found) + command[found.end() :]


def complete_commands(out: Printer, text: str) -> str:
    """Complete every `horae COMMAND` in a text: with the program as it was called, and the store, server and owner of this
    command."""
    return _COMMAND.sub(lambda found: _complete_match(out, found), text)


def _complete_match(out: Printer, found: re.Match[str]) -> str:
    name, rest = found["name"], found["rest"] or ""
    local = name in _AT_STORE and out.server is not None
    option = "" if local or name in _WITHOUT_STORE else location_option(out)
    owner = ""
    if out.owner is not None and out.family == name and rest.strip() in OWNER_COMMANDS.get(name, ()):
        owner = "" if _names_owner(found.string) else f" --owner {quote(out.owner)}"
    return f"{out.program or called_program()}{option} {name}{rest}{owner}"


def _names_owner(text: str) -> bool:
    """Whether the text names the owner already, or has a placeholder for it."""
    return "--owner" in text or "owner_option" in text


def note_next_page(out: Printer, command: str, options: Mapping[str, Any], after: object) -> None:
    """Print the command that shows the next page. `options` are those of this command; None and False are left out."""
    parts = command.split()
    for name, value in options.items():
        parts += _option(name, value)
    out.note(messages.MORE, command=command_line(out, *parts, "--after", str(after)))


def _option(name: str, value: Any) -> list[str]:
    """Return the words of an option; a name without dashes is an argument."""
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    values = value if isinstance(value, list | tuple) else [value]
    return [part for each in values for part in ([name, str(each)] if name.startswith("-") else [str(each)])]
