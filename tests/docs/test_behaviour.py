"""Every line of "How it behaves", of "Moving from NanoClaw" and of the document of plans names a test that exists."""

from __future__ import annotations

from typing import Final

import pytest

from tests.docs.named_tests import check_line
from tests.docs.pages import text_of

_RULE: Final = "|---|---|---|"
PAGE: Final = text_of("behaviour.md")
_HEADS: Final = ("| situation | what happens | shown by |", "| guarantee | planted defect | found by |")
LINES: Final = [line for line in PAGE.splitlines() if line.startswith("| ") and line not in _HEADS]
_HEAD: Final = "| NanoClaw | Horae | shown by |"
NANOCLAW: Final = text_of("nanoclaw.md").partition("## Behaviour by behaviour")[2]
NANOCLAW_LINES: Final = [line for line in NANOCLAW.splitlines() if line.startswith("| ") and line != _HEAD]

_PLAN_HEAD: Final = "| Zero | Horae | shown by |"
PLANS: Final = text_of("plans.md").partition("## Line by line")[2]
PLAN_LINES: Final = [line for line in PLANS.splitlines() if line.startswith("| ") and line != _PLAN_HEAD]


@pytest.mark.parametrize("line", [*LINES, *NANOCLAW_LINES, *PLAN_LINES])
def test_every_line_names_existing_tests(line: str) -> None:
    check_line(line)


def test_tables_have_three_columns_and_unique_situations() -> None:
    assert len(LINES) > 60
    assert len({line.split(" | ")[0] for line in LINES}) == len(LINES), "a situation appears twice"
    assert PAGE.count(_RULE) == PAGE.count("\n## ")


def test_nanoclaw_tables_are_complete() -> None:
    assert len(NANOCLAW_LINES) > 50
    assert len({line.split(" | ")[0] for line in NANOCLAW_LINES}) == len(NANOCLAW_LINES), "a behaviour appears twice"
    assert NANOCLAW.count(_HEAD) == NANOCLAW.count("\n### ")


def test_tables_of_plans_are_complete() -> None:
    assert len(PLAN_LINES) > 25
    assert len({line.split(" | ")[0] for line in PLAN_LINES}) == len(PLAN_LINES), "a rule appears twice"
    assert PLANS.count(_PLAN_HEAD) == PLANS.count("\n### ")
