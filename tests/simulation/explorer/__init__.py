"""Every order of events in small scopes, with the real decisions and the real store in memory: not some seeds, all of them.

scope      what is explored: a few tasks, faults and wishes     rules      the product's decisions, store and manners
stage      store calls, played on the real store                promises   what must hold, always, at every step, in the end
probing    one moment, looked at from all sides                 process    a node: what it knows, and a crash takes away
carrying   what a node can do with runs                         keeping    what it can do with its lease
world      all moves from a state                               search     breadth first, and the way back
"""

from __future__ import annotations

from tests.simulation.explorer.rules import TRUE_RULES, Rules
from tests.simulation.explorer.scope import LARGER, SCOPES, Scope
from tests.simulation.explorer.search import Counterexample, Exploration, explore

__all__ = ["LARGER", "SCOPES", "TRUE_RULES", "Counterexample", "Exploration", "Rules", "Scope", "explore"]
