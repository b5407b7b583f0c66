"""Every state has a Chinese word, and refusals use it."""

from __future__ import annotations

from horae.model.refusals import refuse
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.state_names import CHINESE_STATE_NAMES, state_name

LINK_STATES = ("open", "planned")
"""States of a link without a run, in the tree of a chain."""


def test_state_words_are_complete() -> None:
    assert set(CHINESE_STATE_NAMES) == {*map(str, RunState), *map(str, TaskState), *LINK_STATES}
    assert all(state_name(state, "en") == state and state_name(state, "zh") != state for state in CHINESE_STATE_NAMES)


def test_refusal_translates_the_state() -> None:
    refused = refuse("run_over", task="tsk_1", state="succeeded")
    assert "succeeded" in refused.in_language("en").message
    assert "成功" in refused.in_language("zh").message
    assert "succeeded" not in refused.in_language("zh").message
    assert refused.facts == {"task": "tsk_1", "state": "succeeded"}
