"""Doctor: the labels of the running nodes, and tasks that none of these can take."""

from __future__ import annotations

from datetime import timedelta

from horae.doctor.store_checks import check_labels
from horae.model.lanes.node_labels import parse_node_labels
from horae.ports.store import Node
from horae.service.tasks.task_request import Options
from horae.testing.factories import NOON, a_node
from tests.unit.service.service_harness import ServiceHarness, open_harness

LEASE = timedelta(seconds=15)


async def _found(harness: ServiceHarness, *nodes: Node) -> dict[str, tuple[str, str, str | None]]:
    checks = await check_labels(harness.service, nodes, NOON, LEASE)
    return {
        each.code: (each.grade, each.sentence("en"), each.fix.command if each.fix is not None else None)
        for each in checks
    }


def _node(name: str, *labels: str, late: timedelta = timedelta(0)) -> Node:
    return a_node(name, renewed=NOON - late)._replace(labels=(*parse_node_labels(labels), ("node", name)))


async def test_labels_of_nodes_and_tasks_without_a_node_are_reported() -> None:
    async with open_harness() as harness:
        assert await _found(harness, _node("desk")) == {}
        where = {"gpu": "a100", "node": "desk"}
        await harness.add(name="train", options=Options(where=where))
        await harness.add(name="due", when="now", options=Options(where={"zone": "eu"}))
        labelled = _node("desk", "gpu=a100", "zone=eu")
        shown = {"labels": ("ok", "Labels of the running nodes: gpu=a100, zone=eu", None)}
        assert await _found(harness, labelled) == shown
        for gone in (labelled._replace(draining=True), _node("desk", "gpu=a100", late=2 * LEASE), _node("other")):
            found = await _found(harness, gone)
            assert found.keys() == {"missing_labels"}
            grade, sentence, command = found["missing_labels"]
            assert grade == "warning"
            assert "2 tasks" in sentence
            assert "train (gpu=a100,node=desk)" in sentence
            assert command == "horae up --label zone=eu"
