"""Contexts file (mode 0600): servers that this user has logged in to, their tokens, and which one is in use."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..messages.account_refusals import refuse

_FILE: Final = "contexts.json"
_OTHERS: Final = 0o077


class Context(NamedTuple):
    """A named server with its token, which is stored in this file only and never printed."""

    name: str
    server: str
    token: str
    owner: str = ""
    plain_http: bool = False
    """Whether requests without TLS were allowed at login."""
    deployment: str = ""
    """Deployment of the token, where the server is a router."""

    def __repr__(self) -> str:
        return f"Context({self.name!r}, {self.server!r})"


class Contexts(NamedTuple):
    """All contexts; `current` is the name of the one in use."""

    known: tuple[Context, ...] = ()
    current: str | None = None

    def find(self, name: str) -> Context | None:
        return next((each for each in self.known if each.name == name), None)

    def find_server(self, server: str) -> Context | None:
        """Return the context of this address; of several, the one in use."""
        same = [each for each in self.known if each.server == server]
        return next((each for each in same if each.name == self.current), same[0] if same else None)

    def find_deployment(self, server: str, deployment: str) -> Context | None:
        """Return the context of a deployment behind this router; of several, the one in use."""
        same = [each for each in self.known if (each.server, each.deployment) == (server, deployment)]
        return next((each for each in same if each.name == self.current), same[0] if same else None)

    @property
    def in_use(self) -> Context | None:
        return None if self.current is None else self.find(self.current)

    def add(self, context: Context) -> Contexts:
        """Return the contexts with this one added or replaced, and in use."""
        others = tuple(each for each in self.known if each.name != context.name)
        return Contexts(tuple(sorted((*others, context))), context.name)

    def select(self, name: str | None) -> Contexts:
        return self._replace(current=name)

    def remove(self, name: str) -> Contexts:
        left = tuple(each for each in self.known if each.name != name)
        return Contexts(left, None if self.current == name else self.current)


def contexts_file() -> Path:
    from platformdirs import user_config_path  # noqa: PLC0415 - only where files are looked for

    return user_config_path("horae", appauthor=False) / _FILE


def read_contexts() -> Contexts:
    """Read the file; empty if there is none. Refuses a file that other users can read, since it holds tokens."""
    path = contexts_file()
    try:
        with path.open(encoding="utf-8") as file:
            if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
                raise refuse("contexts_open_to_others", path=path)
            return _read(json.load(file))
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        # The message must not contain the content of the file.
        raise refuse("contexts_unreadable", path=path, problem=type(error).__name__) from None


def _read(value: Mapping[str, Any]) -> Contexts:
    items = value["contexts"].items()
    known = tuple(
        Context(
            name,
            each["server"],
            each["token"],
            each.get("owner", ""),
            each.get("plain_http") is True,
            each.get("deployment", ""),
        )
        for name, each in items
    )
    return Contexts(tuple(sorted(known)), value.get("current"))


def write_contexts(contexts: Contexts) -> None:
    """Write atomically, by renaming a temporary file that only this user can read."""
    path = contexts_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=".contexts-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(_shape(contexts), file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _shape(contexts: Contexts) -> dict[str, Any]:
    return {
        "current": contexts.current,
        "contexts": {
            each.name: {name: value for name, value in each._asdict().items() if name != "name"}
            for each in contexts.known
        },
    }


def read_token(text: str) -> str:
    """Return the token in a text; an invalid one is refused without being printed."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise refuse("no_token_given")
    return token


def token_from_input() -> str:
    return read_token(sys.stdin.read())
