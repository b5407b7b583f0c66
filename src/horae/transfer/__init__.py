"""A whole deployment goes from one store to another: copied page by page, resumable, compared at the end.

digest      what was carried, as a count and one number      stillness   nobody may be at work on either side
begun       how far a move has come, kept in its target      copying     the move itself
"""

from __future__ import annotations

from .copy import Moved, Plan, Stage, move, survey
from .digest import Carried, weigh
from .progress import Begun, Side

__all__ = ["Begun", "Carried", "Moved", "Plan", "Side", "Stage", "move", "survey", "weigh"]
