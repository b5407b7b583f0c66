"""Power loss (F15): after any loss of what was not synced, all that was acknowledged is there, and nothing is half-written."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from horae.errors import StoreError
from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.settle import settle
from horae.lifecycle.start import Claimant
from horae.model.outcome import Settlement, Succeeded
from horae.model.policy import policies_for
from horae.model.run import RunState
from horae.model.task import Target
from horae.ports.store import Node, RunFilter
from horae.schedule import Every
from horae.stores.sqlite import SQLiteStore, checkpoints
from tests.faults.powerloss import LossyVFS, Power

LOSSES: Final = 64
ROUNDS: Final = 30
BATCH: Final = 5
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)


@dataclass
class Acknowledged:
    """What the store has said yes to, and the tasks that it was asked for, batch by batch."""

    asked: list[list[str]] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    claimed: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
