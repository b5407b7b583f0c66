"""Node for hostile tasks: like `worker.py`, with every kind of target and a hostile resolver."""

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
from tests.faults.defects import replace_attribute
from tests.faults.functions import FOLDER, register
from tests.faults.testbed import Testbed
from tests.faults.worker import report
from tests.faults.worker_config import WorkerConfig

ALLOWED: Final = "127.0.0.1"
FORBIDDEN: Final = "127.0.0.2"
"""Loopback address with a listening server that no http target may call."""
TARGETS: Final[dict[str, dict[str, Any]]] = {
    "command": {"allow": [sys.executable, "sh"], "grace": 0.5},
    "http": {"allow_networks": [f"{ALLOWED}/32"]},
}
TURNS: Final = "turns.example"
"""Host name that resolves to the allowed address first, and to the forbidden one afterwards (DNS rebinding)."""
MIXED: Final = "mixed.example"

_asked = count()


async def lookup(host: str) -> Sequence[str]:
    """Hostile resolver: returns mixed or changing addresses."""
    if host == MIXED:
        return ALLOWED, FORBIDDEN
    return (ALLOWED,) if host == TURNS and next(_asked) == 0 else (FORBIDDEN,)


def app_on(testbed: Testbed, **options: Any) -> Horae:
    app = Horae(testbed.url, targets=TARGETS, **options)
    register(app)
    hostile_functions.register(app)
    return app


async def work(config: WorkerConfig) -> None:
    async with app_on(config.testbed, settings=config.settings):
        report("ready")
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    logging.basicConfig()
    config = WorkerConfig.from_json(sys.argv[1])
    os.environ[FOLDER] = config.folder
    # Temporary files go into a folder that the test checks for leftovers.
    tempfile.tempdir = str(scratch_of(config.testbed))
    with replace_attribute(session, "system_lookup", lookup):
        asyncio.run(work(config))
    report("ended")


def scratch_of(testbed: Testbed) -> Path:
    return testbed.folder / "scratch"


if __name__ == "__main__":
    main()
