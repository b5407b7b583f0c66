"""Judges a world by its evidence: every guarantee, from the store's rows, its events, and the targets' own ledger."""

from __future__ import annotations

from .checks.bounds import check_bounds
from .checks.giving_up import check_giving_up
from .checks.missed import check_missed
from .checks.notices import check_notices
from .checks.order import check_order
from .checks.outcomes import check_outcomes
from .checks.planned import check_planned
from .checks.promises import check_promises
from .checks.reasons import check_reasons
from .checks.retries import check_retries
from .checks.story import stories
from .checks.timeline import check_timeline
from .checks.violation import Violation
from .evidence import Evidence

_CHECKS = (
    check_timeline,
    check_outcomes,
    check_retries,
    check_planned,
    check_missed,
    check_promises,
    check_reasons,
    check_giving_up,
    check_notices,
    check_order,
    check_bounds,
)


def check(evidence: Evidence) -> list[Violation]:
    told = stories(evidence)
    return [violation for each in _CHECKS for violation in each(evidence, told)]
