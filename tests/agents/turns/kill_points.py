"""Runs a host that kills itself at a point (`killed_host.py`)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_HOST: Final = Path(__file__).with_name("killed_host.py")
_ROOT: Final = Path(__file__).parents[3]


async def die_at(point: str, folder: Path, settings: Mapping[str, Any]) -> None:
    """Run a host until it has killed itself."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(_HOST), str(folder), point, json.dumps(settings), env=environment
    )
    async with asyncio.timeout(40):
        assert await process.wait() == -signal.SIGKILL
