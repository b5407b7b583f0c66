"""Move of one owner between two running deployments, while all other owners go on.

owner_move    the steps, and where an interrupted move goes on        source    stops the owner, and clears it away
content       what belongs to the owner, page by page                 target    copies, compares and starts
records       its records, stored at the target so that they do nothing before the start
"""

from __future__ import annotations

from .owner_move import OwnerMover, OwnerMoveResult, OwnerMoveStep
from .records import Deployment

__all__ = ["Deployment", "OwnerMoveResult", "OwnerMoveStep", "OwnerMover"]
