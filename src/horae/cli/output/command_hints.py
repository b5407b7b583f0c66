"""A store as it may be shown, and every command that is printed for the user to type next: never with a password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from shlex import join, quote
from typing import Any, Final

from ...errors import HoraeError
from ...runtime.process_settings import load_settings, store_url
from ...runtime.stores import has_secret, mask_url, sqlite_path, without_password
from ..command_table import ALIASES, COMMANDS
from ..messages import messages
from .printer import Printer
from .program_name import NAME, called_program

STORE_VARIABLE: Final = "HORAE_STORE"
_FROM_ENVIRONMENT: Final = f'"${STORE_VARIABLE}"'
_WITHOUT_STORE: Final = frozenset({"completion", "context", "explain", "help", "login", "logout", "move", "version"})
_AT_STORE: Final = frozenset({"db", "doctor", "mcp", "service", "up", "worker"})
"""Commands that are typed where the store is, not at a server."""
_OWNED: Final[dict[str, frozenset[str]]] = {
    "agent": frozenset({"ls", "set", "stop", "restart"}),
    "secret": frozenset({"set", "ls", "rm", "grant", "revoke"}),
    "token": frozenset({"make", "ls"}),
}
"""Subcommands with `--owner`: a hint within the same family keeps the owner."""
_NAMES: Final = "|".join(sorted({*COMMANDS, *ALIASES}, key=len, reverse=True))
_COMMAND: Final = re.compile(
    rf"(?<![A-Za-z0-9_/.\-])(?<!-m )horae[ ](?P<name>{_NAMES})(?![A-Za-z0-9_.\-])"
    r"(?P<rest> (?:ls|set|rm|grant|revoke|make|stop|restart)(?![A-Za-z0-9_\-]))?"
)


def display_url(url: str) -> str:
    """What stands before an `@` in the path of a file is no password."""
    return url if sqlite_path(url) is not None else mask_url(url)


def store_option(url: str) -> str:
    """What has to be typed behind `horae` to get at this store from the same folder; nothing where it is found anyway."""
    return "" if is_default_store(url) else f" --store {store_argument(url)}"


def store_argument(url: str) -> str:
    """The value of `--store` for this store, quoted for a shell and without a password.

    `"$HORAE_STORE"` stands only for the store that the variable names: with any other value the command would act on
    another store.
    """
    if not has_secret(url):
        return quote(url)
    if os.environ.get(STORE_VARIABLE, "").strip() == url:
        return _FROM_ENVIRONMENT
    return quote(without_password(url))


def omits_password(url: str) -> bool:
    """Whether `store_argument` of this store is an address whose password is missing."""
    return has_secret(url) and store_argument(url) != _FROM_ENVIRONMENT


def is_default_store(url: str) -> bool:
    """Whether the next command, typed in the same folder without `--store`, opens the same store."""
    from ..session.servers import server_of  # noqa: PLC0415 - it reads sessions, which name stores

    try:
        if server_of(Printer()) is not None:
            return False
        usual = store_url(load_settings(os.environ))
    except HoraeError:
        return False  # settings that cannot be read lead to no store
    paths = [sqlite_path(each) for each in (usual, url)]
    if None in paths:
        return usual == url
    here, there = (Path(str(path)).resolve() for path in paths)
    return here == there


def location_option(out: Printer) -> str:
    """The `--server` or `--store` of the command that is running, as the next command needs it; never with a password.

    `out.left_out` then holds the address whose password the printed command lacks.
    """
    if out.server is not None:
        return f" --server {quote(out.server)}"
    store = out.store
    if store is None or is_default_store(store):
        return ""
    if omits_password(store):
        out.left_out.add(store)
    return f" --store {store_argument(store)}"


def command_line(out: Printer, *words: str) -> str:
    """A command to be typed next, with the store or server of this one."""
    return complete_command(out, join((NAME, *words)))


def complete_command(out: Printer, command: str) -> str:
    """The same for a command that is quoted already; only its beginning is changed."""
    found = _COMMAND.match(command)
    return command if found is None else _complete_match(out, found) + command[found.end() :]


def complete_commands(out: Printer, text: str) -> str:
    """A text with every `horae COMMAND` in it completed: the program as it was called, and the store, server and owner that
    this command was given."""
    return _COMMAND.sub(lambda found: _complete_match(out, found), text)


def _complete_match(out: Printer, found: re.Match[str]) -> str:
    name, rest = found["name"], found["rest"] or ""
    local = name in _AT_STORE and out.server is not None
    option = "" if local or name in _WITHOUT_STORE else location_option(out)
    owner = ""
    if out.owner is not None and out.family == name and rest.strip() in _OWNED.get(name, ()):
        owner = "" if _names_owner(found.string) else f" --owner {quote(out.owner)}"
    return f"{out.program or called_program()}{option} {name}{rest}{owner}"


def _names_owner(text: str) -> bool:
    """The owner stands in the text already, or is filled in later."""
    return "--owner" in text or "owner_option" in text


def note_next_page(out: Printer, command: str, said: Mapping[str, Any], after: object) -> None:
    """`said` are the options as they were given; what was not given is left out."""
    parts = command.split()
    for name, value in said.items():
        parts += _option(name, value)
    out.note(messages.MORE, command=command_line(out, *parts, "--after", str(after)))


def _option(name: str, value: Any) -> list[str]:
    """A name without dashes is that of an argument."""
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    values = value if isinstance(value, list | tuple) else [value]
    return [part for each in values for part in ([name, str(each)] if name.startswith("-") else [str(each)])]
