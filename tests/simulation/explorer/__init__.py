"""Exhaustive explorer: every order of events in small scopes, with the real decisions and the in-memory store.

scope          tasks, faults and client actions        rules         decisions, store and node behaviour
store_replay   store calls on the real store           invariants    what must hold in each state, each step, at the end
probes         checks of one store state               process       knowledge of a node, lost at a crash
run_calls      calls of a node for its runs            lease_calls   calls of a node for its lease
world          all moves from a state                  search        breadth-first search and counterexamples
"""

from __future__ import annotations

from tests.simulation.explorer.rules import TRUE_RULES, Rules
from tests.simulation.explorer.scope import LARGER, SCOPES, Scope
from tests.simulation.explorer.search import Counterexample, Exploration, explore

__all__ = ["LARGER", "SCOPES", "TRUE_RULES", "Counterexample", "Exploration", "Rules", "Scope", "explore"]
