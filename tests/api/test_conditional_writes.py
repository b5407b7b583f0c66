"""A condition holds at the moment of the write, not at that of a look before it: of many who expect the same, one succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.api.api_server import Reply, served

_AT_ONCE = 12
_STORES = ("memory://", "sqlite:///{}/horae.db")
_TASK = {"name": "report", "when": "every 1h", "zone": "UTC", "say": "x"}


@pytest.mark.parametrize("store", _STORES)
async def test_of_many_who_make_it_only_if_it_is_new_one_does(store: str, tmp_path: Path) -> None:
    async with served(url=store.format(tmp_path)) as api:
        replies = await asyncio.gather(
            *(
                api.put("/v1/tasks/by-key/k", {**_TASK, "payload": {"by": each}}, headers={"If-None-Match": "*"})
                for each in range(_AT_ONCE)
            )
        )
        assert sorted(reply.status for reply in replies) == [201] + [412] * (_AT_ONCE - 1)


@pytest.mark.parametrize("store", _STORES)
@pytest.mark.parametrize("by_key", [False, True])
async def test_of_many_who_say_the_same_key_at_once_one_is_told_that_it_made_the_task(
    store: str, *, by_key: bool, tmp_path: Path
) -> None:
    async with served(url=store.format(tmp_path)) as api:

        def asked(number: int) -> Coroutine[Any, Any, Reply]:
            task = {**_TASK, "payload": {"by": number}}
            return api.put("/v1/tasks/by-key/k", task) if by_key else api.post("/v1/tasks", {**task, "key": "k"})

        replies = await asyncio.gather(*(asked(number) for number in range(_AT_ONCE)))
        assert sorted(reply.status for reply in replies) == [200] * (_AT_ONCE - 1) + [201]


async def test_who_made_a_task_has_its_tag_already() -> None:
    async with served() as api:
        path = tag = ""
        for made in (
            await api.post("/v1/tasks", _TASK, headers={"Idempotency-Key": "once"}),
            await api.post("/v1/tasks", _TASK, headers={"Idempotency-Key": "once"}),
            await api.put("/v1/tasks/by-key/k", _TASK),
        ):
            path, tag = made.headers["Location"], made.headers["ETag"]
            assert (await api.get(path)).headers["ETag"] == tag
            assert (await api.get(path, headers={"If-None-Match": tag})).status == 304
        changed = await api.patch(path, {"name": "another"}, headers={"If-Match": tag})
        assert (changed.status, changed.json["name"]) == (200, "another")
        assert (await api.patch(path, {"name": "third"}, headers={"If-Match": tag})).status == 412


@pytest.mark.parametrize("store", _STORES)
async def test_of_many_who_change_the_same_version_one_does(store: str, tmp_path: Path) -> None:
    async with served(url=store.format(tmp_path)) as api:
        made = await api.put("/v1/tasks/by-key/k", _TASK)
        tag = (await api.get("/v1/tasks/by-key/k")).headers["ETag"]
        replies = await asyncio.gather(
            *(
                api.put("/v1/tasks/by-key/k", {**_TASK, "payload": {"by": each}}, headers={"If-Match": tag})
                for each in range(_AT_ONCE)
            )
        )
        assert sorted(reply.status for reply in replies) == [200] + [412] * (_AT_ONCE - 1)
        path = f"/v1/tasks/{made.json['id']}"
        for action in ("pause", "resume", "skip", "run"):
            assert (await api.post(f"{path}/{action}", headers={"If-Match": tag})).status == 412
        assert (await api.delete(path, headers={"If-Match": tag})).status == 412
        assert (await api.get(path)).json["state"] == "active"
