"""The two places at which the same command works: a store in a file, and a server that has one."""

from __future__ import annotations

import re
from typing import Final, Protocol

from tests.cli.driving import Done
from tests.cli.remote.served import ServedCli

PLACES: Final = ("file", "server")


class Command(Protocol):
    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Done: ...


def at(place: str, cli: ServedCli) -> Command:
    return cli if place == "server" else cli.on_file


def without_store(text: str) -> str:
    """Printed commands without the `--store` that they repeat."""
    return re.sub(r"horae --store \S+ ", "horae ", text)
