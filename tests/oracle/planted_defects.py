"""All planted defects, each of which the comparison with the oracle must notice."""

from __future__ import annotations

from .planted_in_clocks import CHANGES, COUNTING, ZONE_RULES
from .planted_in_expressions import DAYS, READING, TIMES
from .planted_in_lists import LISTS

DEFECTS = (*READING, *DAYS, *TIMES, *CHANGES, *ZONE_RULES, *COUNTING, *LISTS)
