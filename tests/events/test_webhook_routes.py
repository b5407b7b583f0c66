"""Webhooks over HTTP: made, changed, rotated, tried and removed, with what every answer must and must not show."""

from __future__ import annotations

import asyncio

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, Scope
from horae.outgoing.signatures import verify
from horae.service.events.background_work import WatchSettings, run_background_work
from tests.api.api_server import Api

from .event_server import SECONDS, added, inbox, serve_api


async def test_a_webhook_from_its_making_to_its_end() -> None:
    async with serve_api() as api, inbox() as box:
        made = await api.post("/v1/webhooks", {"url": f"{box.base}/a", "types": ["task.*"], "note": "pager"})
        assert made.status == 201, made.text
        webhook = made.json
        secret = webhook.pop("secret")
        assert made.headers["location"] == f"/v1/webhooks/{webhook['id']}"
        assert (webhook["owner"], webhook["types"], webhook["enabled"]) == ("ada", ["task.*"], True)
        path = f"/v1/webhooks/{webhook['id']}"
        seen = await api.get(path)
        assert seen.json == webhook
        assert (await api.get("/v1/webhooks")).json["items"] == [webhook]

        tested = (await api.post(f"{path}/test")).json
        assert (tested["state"], tested["attempts"][0]["status"]) == ("delivered", 200)
        assert verify([secret], box.posts[0].headers, box.posts[0].body, SystemClock().now())

        changed = await api.patch(path, {"note": "other"}, headers={"If-Match": seen.headers["etag"]})
        assert changed.json["note"] == "other"
        stale = await api.patch(path, {"note": "late"}, headers={"If-Match": seen.headers["etag"]})
        assert stale.status == 412
        rotated = (await api.post(f"{path}/rotate")).json
        assert rotated["secret"].startswith("whsec_")
        assert rotated["secret"] != secret
        assert rotated["both_until"] is not None

        assert (await api.delete(f"{path}?dry_run=true")).status == 204
        assert (await api.delete(path)).status == 204
        gone = await api.get(path)
        assert (gone.status, gone.code) == (404, "no_such_webhook")
        rows = [row["action"] for row in (await api.get("/v1/audit")).json["items"]]
        assert rows == [f"webhook.{each}" for each in ("remove", "rotate", "edit", "test", "create")]
        assert secret not in (await api.get("/v1/audit")).text


async def test_a_rehearsal_of_rotating_and_removing_is_refused_as_they_would_be_and_changes_nothing() -> None:
    async with serve_api() as api, inbox() as box:
        made = (await api.post("/v1/webhooks", {"url": f"{box.base}/a"})).json
        path = f"/v1/webhooks/{made['id']}"
        _, api.tokens["reader"] = await api.service.tokens.make(LOCAL, owner="ada", name="r", scopes=[Scope.READ])
        rehearsed = await api.post(f"{path}/rotate?dry_run=true")
        assert (rehearsed.status, rehearsed.json["secret"]) == (200, None)
        assert (await api.delete(f"{path}?dry_run=true")).status == 204
        for method, address in ((api.post, f"{path}/rotate"), (api.delete, path)):
            assert (await method(f"{address}?dry_run=true", who="reader")).status == 403
        assert (await api.get(path)).json["both_until"] is None
        await api.post(f"{path}/test")
        assert verify([made["secret"]], box.posts[0].headers, box.posts[0].body, SystemClock().now())


async def test_the_courier_beside_a_server_brings_what_happens_and_it_can_be_looked_at() -> None:
    async with serve_api() as api, inbox() as box:
        going = asyncio.ensure_future(run_background_work(api.service, SystemClock(), WatchSettings()))
        webhook = (await api.post("/v1/webhooks", {"url": f"{box.base}/a"})).json
        task = await added(api.service.store)
        await box.until(1)
        await _until_delivered(api, webhook["id"])
        (delivery,) = (await api.get(f"/v1/webhooks/{webhook['id']}/deliveries")).json["items"]
        assert (delivery["message"], delivery["task_id"]) == (box.posts[0].json["id"], task.id)
        path = f"/v1/webhooks/{webhook['id']}/deliveries/{delivery['id']}"
        assert (await api.get(path)).json == delivery
        again = (await api.post(f"{path}/redeliver")).json
        assert len(again["attempts"]) == 2
        assert box.posts[-1].headers["webhook-id"] == delivery["message"]
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


async def _until_delivered(api: Api, name: str) -> None:
    """That it has come is known before that is written down."""
    async with asyncio.timeout(SECONDS):
        while True:
            page = (await api.get(f"/v1/webhooks/{name}/deliveries")).json
            if [each["state"] for each in page["items"]] == ["delivered"]:
                return


async def test_what_is_refused_and_who_may_what() -> None:
    async with serve_api() as api, inbox() as box:
        good = {"url": f"{box.base}/a"}
        webhook = (await api.post("/v1/webhooks", good)).json
        path = f"/v1/webhooks/{webhook['id']}"
        for body, status in (
            ({}, 422),
            ({"url": "http://10.0.0.1/"}, 422),
            ({"url": "http://169.254.169.254/"}, 422),
            ({"url": 7}, 422),
            ({**good, "types": "run.*"}, 422),
            ({**good, "types": ["run.exploded"]}, 422),
            ({**good, "kinds": []}, 422),
            ({**good, "note": "x" * 501}, 422),
            ({**good, "owner": "bob"}, 404),
            ([], 422),
        ):
            assert (await api.post("/v1/webhooks", body)).status == status, body
        for who, status in (("bob", 404), ("vic", 404), ("admin", 200), ("robot", 403), (None, 401)):
            assert (await api.get(path, who=who)).status == status
        assert (await api.post("/v1/webhooks", good, who="vic")).status == 403
        assert (await api.post("/v1/webhooks", good, who="robot")).status == 403
        assert (await api.post("/v1/webhooks", {**good, "owner": "bob"}, who="admin")).json["owner"] == "bob"
        assert (await api.patch(path, {"enabled": "no"})).status == 422
        off = (await api.patch(path, {"enabled": False})).json
        assert (off["enabled"], off["disabled"]) == (False, "requested")
        for _ in range(19):
            assert (await api.post("/v1/webhooks", good)).status == 201
        full = await api.post("/v1/webhooks", good)
        assert (full.status, full.code) == (429, "too_many_webhooks")
        assert box.posts == []


async def test_the_same_request_twice_makes_one_webhook_and_shows_its_secret_once() -> None:
    async with serve_api() as api, inbox() as box:
        key = {"Idempotency-Key": "once"}
        first = await api.post("/v1/webhooks", {"url": f"{box.base}/a"}, headers=key)
        second = await api.post("/v1/webhooks", {"url": f"{box.base}/a"}, headers=key)
        assert second.headers["idempotent-replayed"] == "true"
        assert second.json == {**first.json, "secret": None}
        assert len((await api.get("/v1/webhooks")).json["items"]) == 1
        rehearsed = await api.post("/v1/webhooks?dry_run=true", {"url": f"{box.base}/b"})
        assert (rehearsed.status, rehearsed.json["secret"]) == (200, None)
        assert len((await api.get("/v1/webhooks")).json["items"]) == 1
