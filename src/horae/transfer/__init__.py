"""Move of a whole deployment between two stores: a resumable copy, page by page, verified by digests at the end.

copy          copies and compares                            digest        row count and checksum of a part
idle_check    refuses stores with live nodes                 progress      resume point, stored in the target
"""

from __future__ import annotations

from .copy import Moved, Plan, Stage, move, survey
from .digest import Carried, weigh
from .progress import Begun, Side

__all__ = ["Begun", "Carried", "Moved", "Plan", "Side", "Stage", "move", "survey", "weigh"]
