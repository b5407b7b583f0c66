"""Plausible mistakes with several schedules: equal instants, merged tables, counting."""

from __future__ import annotations

from .defect import ORDINARY, Defect

LISTS = (
    Defect(
        "equal_instants_listed_twice",
        "every schedule that has fired goes on, so that equal instants are one occurrence",
        "union_rule.py",
        "while upcoming and upcoming[0][0] == instant:",
        "if upcoming:",
        ORDINARY,
    ),
    Defect(
        "equal_instants_counted_twice",
        "what two schedules share is one occurrence",
        "union_rule.py",
        "total += number - _count_shared(rule, known, after, until)",
        "total += number",
        ORDINARY,
    ),
    Defect(
        "shared_with_the_densest_only",
        "an instant may be shared by two rare schedules",
        "union_rule.py",
        "                known.append(rule)\n",
        "",
        ORDINARY,
    ),
    Defect(
        "common_period_counted_once",
        "what is shared in one period is shared in each of them",
        "union_rule.py",
        "shared += times * _list_shared",
        "shared += _list_shared",
        ORDINARY,
    ),
    Defect(
        "tables_merged_across_gap_policies",
        "gap and fold belong to each schedule",
        "union_rule.py",
        "(part.zone, part.gap, part.fold, part.flowing)",
        "(part.zone, part.flowing)",
        ORDINARY,
    ),
    Defect(
        "first_instants_of_a_grid_lost",
        "a short interval fires before the longest one has begun",
        "union_rule.py",
        "if index < len(self.early):",
        "if index + 1 < len(self.early):",
        ORDINARY,
    ),
    Defect(
        "phase_of_a_grid_lost",
        "each interval keeps its own first instant",
        "union_rule.py",
        "[(grid.first - begin) % grid.interval]",
        "[0]",
        ORDINARY,
    ),
)
