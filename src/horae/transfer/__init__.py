"""Move of a whole deployment between two stores: a resumable copy, page by page, verified by digests at the end.

copy          copies and compares                            digest        row count and checksum of a part
idle_check    refuses stores with live nodes                 progress      resume point, stored in the target
"""

from __future__ import annotations

from .copy import MovePlan, MoveResult, MoveStage, move_store, plan_move
from .digest import PartDigest, compute_digest
from .move_progress import MoveProgress, NamedStore

__all__ = [
    "MovePlan",
    "MoveProgress",
    "MoveResult",
    "MoveStage",
    "NamedStore",
    "PartDigest",
    "compute_digest",
    "move_store",
    "plan_move",
]
