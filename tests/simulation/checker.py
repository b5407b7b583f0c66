"""Checks a simulated cluster against every guarantee: store rows, event log, and the ledger of the targets."""

from __future__ import annotations

from tests.simulation.checks.accounting import check_planned
from tests.simulation.checks.bounds import check_bounds
from tests.simulation.checks.delivery import check_delivery
from tests.simulation.checks.give_up import check_give_up
from tests.simulation.checks.inputs import check_inputs
from tests.simulation.checks.missed import check_missed
from tests.simulation.checks.notices import check_notices
from tests.simulation.checks.order import check_order
from tests.simulation.checks.outcomes import check_outcomes
from tests.simulation.checks.reasons import check_reasons
from tests.simulation.checks.retries import check_retries, check_retries_that_count_as_running
from tests.simulation.checks.start_deadlines import check_start_deadlines
from tests.simulation.checks.task_history import task_histories
from tests.simulation.checks.timeline import check_timeline
from tests.simulation.checks.turns import check_turns
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence

_CHECKS = (
    check_timeline,
    check_outcomes,
    check_retries,
    check_retries_that_count_as_running,
    check_planned,
    check_missed,
    check_delivery,
    check_inputs,
    check_reasons,
    check_give_up,
    check_notices,
    check_order,
    check_start_deadlines,
    check_bounds,
    check_turns,
)


def check(evidence: Evidence) -> list[Violation]:
    told = task_histories(evidence)
    return [violation for each in _CHECKS for violation in each(evidence, told)]
