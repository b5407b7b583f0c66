"""Conditional writes are checked in the transaction of the write: of concurrent requests with the same condition, one succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.api.api_server import Reply, serve_api

_CONCURRENT = 12
_STORES = ("memory://", "sqlite:///{}/horae.db")
_TASK = {"name": "report", "when": "every 1h", "zone": "UTC", "say": "x"}


@pytest.mark.parametrize("store", _STORES)
async def test_concurrent_creates_with_if_none_match_make_one_task(store: str, tmp_path: Path) -> None:
    async with serve_api(url=store.format(tmp_path)) as api:
        replies = await asyncio.gather(
            *(
                api.put("/v1/tasks/by-key/k", {**_TASK, "payload": {"by": each}}, headers={"If-None-Match": "*"})
                for each in range(_CONCURRENT)
            )
        )
        assert sorted(reply.status for reply in replies) == [201] + [412] * (_CONCURRENT - 1)


@pytest.mark.parametrize("store", _STORES)
@pytest.mark.parametrize("by_key", [False, True])
async def test_concurrent_creates_with_one_key_answer_201_once(store: str, *, by_key: bool, tmp_path: Path) -> None:
    async with serve_api(url=store.format(tmp_path)) as api:

        def put_or_post(number: int) -> Coroutine[Any, Any, Reply]:
            task = {**_TASK, "payload": {"by": number}}
            return api.put("/v1/tasks/by-key/k", task) if by_key else api.post("/v1/tasks", {**task, "key": "k"})

        replies = await asyncio.gather(*(put_or_post(number) for number in range(_CONCURRENT)))
        assert sorted(reply.status for reply in replies) == [200] * (_CONCURRENT - 1) + [201]


async def test_create_returns_the_etag_of_the_task() -> None:
    async with serve_api() as api:
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
async def test_concurrent_updates_with_one_if_match_succeed_once(store: str, tmp_path: Path) -> None:
    async with serve_api(url=store.format(tmp_path)) as api:
        made = await api.put("/v1/tasks/by-key/k", _TASK)
        tag = (await api.get("/v1/tasks/by-key/k")).headers["ETag"]
        replies = await asyncio.gather(
            *(
                api.put("/v1/tasks/by-key/k", {**_TASK, "payload": {"by": each}}, headers={"If-Match": tag})
                for each in range(_CONCURRENT)
            )
        )
        assert sorted(reply.status for reply in replies) == [200] + [412] * (_CONCURRENT - 1)
        path = f"/v1/tasks/{made.json['id']}"
        for action in ("pause", "resume", "skip", "run"):
            assert (await api.post(f"{path}/{action}", headers={"If-Match": tag})).status == 412
        assert (await api.delete(path, headers={"If-Match": tag})).status == 412
        assert (await api.get(path)).json["state"] == "active"
