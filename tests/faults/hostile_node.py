"""A node for hostile work: the same as `worker.py`, with every kind of target, and names that mean what a test wants."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

from horae import Horae
from horae.outgoing import session
from tests.faults import hostile_functions
from tests.faults.defects import swapped
from tests.faults.functions import FOLDER, register
from tests.faults.orders import Orders
from tests.faults.place import Place
from tests.faults.worker import say

ALLOWED: Final = "127.0.0.1"
FORBIDDEN: Final = "127.0.0.2"
"""Loopback too, and a server listens there; but no http target may call it."""
TARGETS: Final[dict[str, dict[str, Any]]] = {
    "command": {"allow": [sys.executable, "sh"], "grace": 0.5},
    "http": {"allow_networks": [f"{ALLOWED}/32"]},
}
TURNS: Final = "turns.example"
"""First it has the address that may be called, ever after one that may not."""
MIXED: Final = "mixed.example"

_asked = count()


async def lookup(host: str) -> Sequence[str]:
    """The resolver of somebody who means no good."""
    if host == MIXED:
        return ALLOWED, FORBIDDEN
    return (ALLOWED,) if host == TURNS and next(_asked) == 0 else (FORBIDDEN,)


def app_on(place: Place, **options: Any) -> Horae:
    app = Horae(place.url, targets=TARGETS, **options)
    register(app)
    hostile_functions.register(app)
    return app


async def work(orders: Orders) -> None:
    async with app_on(orders.place, settings=orders.settings):
        say("ready")
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    logging.basicConfig()
    orders = Orders.read(sys.argv[1])
    os.environ[FOLDER] = orders.folder
    # Whatever is left behind in the folder for temporary files is seen there.
    tempfile.tempdir = str(scratch_of(orders.place))
    with swapped(session, "system_lookup", lookup):
        asyncio.run(work(orders))
    say("ended")


def scratch_of(place: Place) -> Path:
    return place.folder / "scratch"


if __name__ == "__main__":
    main()
