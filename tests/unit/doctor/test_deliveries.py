"""Doctor: texts for chats that no channel can send, that wait for long, and that failed."""

from __future__ import annotations

from datetime import timedelta

from horae.doctor.store_checks import check_deliveries
from horae.model.agents.delivery import Delivery, as_failed, delivery_record
from horae.model.record import RecordWrite
from horae.testing.factories import HOUR, NOON
from tests.unit.service.service_harness import ServiceHarness, open_harness

CHANNELS = frozenset({"web", "telegram"})


async def found(harness: ServiceHarness, channels: frozenset[str] | None = CHANNELS) -> list[tuple[str, str]]:
    checks = await check_deliveries(harness.service, channels, NOON)
    assert all(each.fix is not None and each.sentence("zh") for each in checks)
    return [(each.grade, each.sentence("en")) for each in checks]


async def test_lost_late_and_failed_texts_are_reported() -> None:
    async with open_harness() as harness:
        assert await found(harness) == []
        new = Delivery("dlv_1", "group:family", "telegram:-1", "x", NOON - timedelta(minutes=1))
        late = new._replace(id="dlv_2", created=NOON - HOUR)
        lost = new._replace(id="dlv_3", chat="former:1")
        failed = as_failed(new._replace(id="dlv_4"), NOON - HOUR, "kicked")
        old = as_failed(new._replace(id="dlv_5"), NOON - 30 * HOUR, "kicked")
        writes = [RecordWrite(delivery_record(each)) for each in (new, late, lost, failed, old)]
        assert await harness.store.write_records(writes)
        assert await found(harness) == [
            ("error", "1 text waits for channels that the settings do not name: former"),
            ("warning", "1 text has waited for more than 5 minutes to be sent: telegram:-1"),
            ("warning", "1 text to chats failed in the last day: telegram:-1"),
        ]
        assert len(await found(harness, None)) == 2
