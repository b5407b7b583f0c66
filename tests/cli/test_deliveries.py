"""`horae deliveries`: list, show, retry and discard, at a store."""

from __future__ import annotations

import asyncio
import json

from horae.model.agents.delivery import Delivery, add_delivery, as_failed, delivery_record
from horae.model.record import RecordWrite
from horae.runtime.stores import make_store
from horae.testing.factories import NOON
from tests.cli.command_line import Cli

PENDING = Delivery("dlv_000000000001" + "0" * 20, "group:family", "telegram:-100", "Good morning\nall", NOON, "run_1")
FAILED = as_failed(PENDING._replace(id="dlv_000000000002" + "0" * 20, text="late"), NOON, "the bot was kicked")


def fill(url: str) -> None:
    async def write() -> None:
        opened = make_store(url)
        await opened.open()
        assert await opened.write_records([add_delivery(PENDING), RecordWrite(delivery_record(FAILED))])
        await opened.close()

    asyncio.run(write())


def test_deliveries_are_listed_and_shown(cli: Cli) -> None:
    assert "No deliveries." in cli("deliveries", "ls").err
    cli("messages", "send", "chat:1", "creates the store")
    fill(cli.url)
    listed = cli("deliveries", "ls").out
    assert "Good morning" in listed
    assert "failed" in listed
    assert [each["id"] for each in json.loads(cli("deliveries", "ls", "--json").out)] == [FAILED.id, PENDING.id]
    assert cli("deliveries", "ls", "--state", "pending", "-q").out.split() == [PENDING.id]
    assert cli("deliveries", "ls", "--chat", "web:1", "--json").out.strip() == "[]"
    assert "--after" in cli("deliveries", "ls", "--limit", "1").err
    shown = cli("deliveries", "show", FAILED.id[:16]).out
    assert "the bot was kicked" in shown
    assert json.loads(cli("deliveries", "show", FAILED.id, "--json").out)["problem"] == "the bot was kicked"
    assert cli("deliveries", "show", FAILED.id, "-q").out.strip() == FAILED.id


def test_failed_one_is_sent_again_and_discarded(cli: Cli) -> None:
    cli("messages", "send", "chat:1", "creates the store")
    fill(cli.url)
    refused = cli("deliveries", "retry", PENDING.id)
    assert refused.code != 0
    assert "only a failed one" in refused.err
    assert "is sent again" in cli("deliveries", "retry", FAILED.id).out
    assert json.loads(cli("deliveries", "show", FAILED.id, "--json").out)["state"] == "pending"
    assert json.loads(cli("deliveries", "discard", FAILED.id, "--yes", "--json").out) == {"removed": FAILED.id}
    assert "is discarded" in cli("deliveries", "discard", PENDING.id, "--yes").out
    gone = cli("deliveries", "show", PENDING.id)
    assert gone.code == 3
    assert "There is no delivery" in gone.err
