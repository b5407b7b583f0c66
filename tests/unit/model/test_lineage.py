"""Lineage: labels of tasks that runs of agents make."""

from __future__ import annotations

import pytest

from horae.model.agents.lineage import Lineage, depth_of


def test_task_of_a_run_is_one_deeper_than_the_task_of_that_run() -> None:
    assert Lineage("run_1", 1, 7).labels == {"horae/depth": "2", "horae/run": "run_1", "horae/message": "7"}
    assert Lineage().labels == {"horae/depth": "1"}


@pytest.mark.parametrize(("text", "depth"), [("2", 2), ("", 0), ("-1", 0), ("deep", 0)])
def test_depth_is_read_from_the_labels(text: str, depth: int) -> None:
    assert depth_of([("room", "a"), ("horae/depth", text)]) == depth
    assert depth_of([]) == 0
