"""Digests of two stores are equal exactly when their contents are."""

from __future__ import annotations

from typing import Any

import pytest

from horae.model.change import Facts
from horae.model.task import NEW_TASK_STATUS
from horae.ports.transfer import Part, TransferItem
from horae.schedule import Every
from horae.stores.memory import MemoryStore
from horae.testing.contracts.stores.writes.sample_contents import fill_store
from horae.testing.contracts.stores.writes.transfer import read_all_parts
from horae.testing.factories import HOUR, NOON, a_run, a_task, an_entry
from horae.transfer import PartDigest, compute_digest


async def sample_items() -> dict[Part, list[TransferItem]]:
    store = MemoryStore()
    await fill_store(store)
    return await read_all_parts(store)


def weight(part: Part, *parcels: TransferItem) -> PartDigest:
    return PartDigest().add_items(part, parcels)


@pytest.mark.parametrize("part", [part for part in Part if part is not Part.TASKS])
async def test_digest_ignores_order_and_covers_every_item(part: Part) -> None:
    parcels = (await sample_items())[part]
    whole = weight(part, *parcels)
    assert weight(part, *reversed(parcels)) == whole
    for place in range(len(parcels)):
        assert weight(part, *parcels[:place], *parcels[place + 1 :]).digest != whole.digest
    assert weight(part, *parcels, parcels[0]).digest != whole.digest


async def test_digest_of_tasks_depends_on_order() -> None:
    tasks = (await sample_items())[Part.TASKS]
    assert weight(Part.TASKS, *tasks) == weight(Part.TASKS, *tasks[:3]).add_items(Part.TASKS, tasks[3:])
    assert weight(Part.TASKS, *tasks) != weight(Part.TASKS, *reversed(tasks))


@pytest.mark.parametrize("part", Part)
async def test_digest_covers_every_field(part: Part) -> None:
    for parcel in (await sample_items())[part]:
        for name, value in parcel._asdict().items():
            other = parcel._replace(**{name: _another(value)})
            assert weight(part, other).digest != weight(part, parcel).digest, name


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case frozenset():
            return value | {"x"}
        case tuple():
            return (*value, "x")
        case None:
            return "x"
    return None


@pytest.mark.parametrize(
    "changed",
    [
        {"task": a_task(id="t", name="other")},
        {"task": a_task(id="t", schedule=Every(interval=2 * HOUR))},
        {"task": a_task(id="t", priority=3)},
        {"entries": ()},
        {"live": ()},
    ],
)
def test_digest_covers_nested_fields_of_a_task(changed: dict[str, Any]) -> None:
    task = a_task(id="t")
    facts = Facts(task, NEW_TASK_STATUS, (an_entry(task),), (a_run(task, planned=NOON),))
    assert weight(Part.TASKS, facts) == weight(Part.TASKS, facts._replace(task=a_task(id="t")))
    assert weight(Part.TASKS, facts) != weight(Part.TASKS, facts._replace(**changed))


def test_digest_encoding_is_stable() -> None:
    """Written down once: a change of the encoding would make stores differ that hold the same."""
    assert weight(Part.METADATA).hex_digest == "0" * 32
    run = a_run(a_task(id="tsk_1"), planned=NOON)
    assert weight(Part.RUNS, run).hex_digest == "2e8c90e4dcb9fd794c1303a17a964079"


def test_value_without_encoding_is_an_error() -> None:
    with pytest.raises(TypeError):
        weight(Part.METADATA, object())  # type: ignore[arg-type]


async def test_progress_is_reported_per_page() -> None:
    store, told = MemoryStore(), list[int]()
    await fill_store(store)
    carried = await compute_digest(store, Part.EVENTS, told.append)
    assert sum(told) == carried.item_count > 0
