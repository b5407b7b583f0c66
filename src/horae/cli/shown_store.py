"""A store as it may be shown, and as the next command has to name it: never with a password."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Final

from ..runtime.choosing import chosen_settings, store_url
from ..runtime.stores import has_secret, masked, sqlite_path
from .out import Out

FROM_ENVIRONMENT: Final = '"$HORAE_STORE"'


def shown_url(url: str) -> str:
    """What stands before an `@` in the path of a file is no password."""
    return url if sqlite_path(url) is not None else masked(url)


def flag_for(url: str) -> str:
    """What has to be typed behind `horae` to get at this store from the same folder; nothing where it is found anyway.

    Where its address holds a password, the address has to be in the environment first.
    """
    return "" if is_found(url) or has_secret(url) else f" --store {quote(url)}"


def is_found(url: str) -> bool:
    """Whether the next command, typed in the same folder, opens the same store without being told."""
    usual = store_url(chosen_settings(os.environ))
    paths = [sqlite_path(each) for each in (usual, url)]
    if None in paths:
        return usual == url
    here, there = (Path(str(path)).resolve() for path in paths)
    return here == there


def typed(out: Out) -> str:
    """`horae`, with the store that this command was given, where the next one would not find it: how that begins."""
    return "horae" if out.store is None or out.server is not None else f"horae{flag_for(out.store)}"


def option_for(out: Out) -> str:
    """The `--server` or `--store` of a command that is to be typed again, as it was or without its password."""
    if out.server is not None:
        return f" --server {quote(out.server)}"
    store = out.store
    if store is None:
        return ""
    return f" --store {FROM_ENVIRONMENT if has_secret(store) else quote(store)}"
