"""Message streams over HTTP: send, read, caps, readers, quotas and refusals with a pointer."""

from __future__ import annotations

from typing import Any

from tests.api.api_server import serve_api
from tests.handled_messages import handle_messages

CHAT = "/v1/streams/chat:1"


async def test_messages_are_sent_and_read() -> None:
    async with serve_api() as api:
        sent = await api.post(
            f"{CHAT}/messages",
            {"messages": [{"text": "hello", "id": "m-1", "source": "web", "references": [{"url": "https://a"}]}]},
        )
        assert (sent.status, sent.json) == (201, {"stream": "chat:1", "numbers": [1]})
        again = await api.post(f"{CHAT}/messages", {"messages": [{"text": "other", "id": "m-1", "source": "web"}]})
        assert again.json["numbers"] == [1]
        await api.post(f"{CHAT}/messages", {"messages": [{"text": "two"}, {"text": "three"}]})
        page = (await api.get(f"{CHAT}/messages?after=1&limit=1")).json
        assert ([each["text"] for each in page["messages"]], page["next_after"], page["last"]) == (["two"], 2, 3)
        first = (await api.get(f"{CHAT}/messages")).json["messages"][0]
        assert (first["number"], first["id"], first["references"]) == (1, "m-1", [{"url": "https://a"}])
        listed = (await api.get("/v1/streams")).json["items"]
        assert [(each["name"], each["stored"]) for each in listed] == [("chat:1", 3)]


async def test_readers_register_and_no_request_moves_them() -> None:
    async with serve_api() as api:
        await api.post(f"{CHAT}/messages", {"messages": [{"text": "one"}, {"text": "two"}]})
        assert (await api.put(f"{CHAT}/cursors/handled", {"after": "x"})).status == 422
        made = await api.put(f"{CHAT}/cursors/handled", {"after": 1})
        assert (made.status, made.json["number"]) == (200, 1)
        assert (await api.put(f"{CHAT}/cursors/handled", {"after": 2})).json["number"] == 1
        page = (await api.get(f"{CHAT}/messages?reader=handled")).json
        assert [each["number"] for each in page["messages"]] == [2]
        state = (await api.get(CHAT)).json
        assert ([each["reader"] for each in state["cursors"]], state["gaps"]) == (["handled"], [])
        assert (await api.delete(f"{CHAT}/cursors/handled")).status == 204
        assert (await api.get(f"{CHAT}/messages?reader=handled")).code == "no_such_reader"


async def test_run_and_stream_name_each_other() -> None:
    async with serve_api() as api:
        run = await handle_messages(api.service.store, "ada")
        handled = [{"stream": "chat:1", "reader": "handled", "first": 1, "last": 3}]
        assert (await api.get(f"/v1/runs/{run.id}")).json["handled"] == handled
        assert (await api.get(f"/v1/runs/{run.id}?fields=handled")).json == {"handled": handled}
        (cursor,) = (await api.get(CHAT)).json["cursors"]
        assert (cursor["number"], cursor["run_id"]) == (3, run.id)
        assert (await api.get(f"/v1/tasks/{run.task_id}/runs")).json["items"][0]["handled"] is None, (
            "lists do not read it"
        )
        assert (await api.get(f"/v1/runs/{run.id}", who="bob")).status == 404


async def test_caps_and_deletion() -> None:
    async with serve_api() as api:
        made = await api.put(CHAT, {"keep": 5, "keep_for": "30d"})
        assert (made.json["keep"], made.json["keep_for_seconds"]) == (5, 30 * 86_400)
        assert (await api.put(CHAT, {})).json["keep"] is None
        for body in (
            {"keep": 0},
            {"keep": "5"},
            {"keep_for": 5},
            {"keep_for": "soon"},
            {"keep_for": "9999d"},
            {"x": 1},
        ):
            assert (await api.put(CHAT, body)).status == 422, body
        assert (await api.delete(CHAT)).status == 204
        assert (await api.delete(CHAT)).code == "no_such_stream"


async def test_bad_messages_are_refused_with_code_and_hint() -> None:
    async with serve_api() as api:
        for message, code in (
            ({"text": ""}, "empty_message"),
            ({"text": "x" * 65_537}, "message_too_large"),
            ({"text": "a\0b"}, "unstorable_message"),
            ({"text": "x", "references": ["y" * 20_000]}, "bad_references"),
        ):
            refused = await api.post(f"{CHAT}/messages", {"messages": [message]})
            assert (refused.status, refused.code) == (422, code)
            assert refused.json["hint"]
        assert (await api.post("/v1/streams/a%20b/messages", {"messages": [{"text": "x"}]})).code == "bad_stream_name"
        assert (await api.post(f"{CHAT}/messages", {"messages": []})).status == 422
        bodies: list[Any] = [{"messages": [{"txt": "x"}]}, {"messages": [{"text": 5}]}, {"messages": "x"}, {}, []]
        for body in bodies:
            assert (await api.post(f"{CHAT}/messages", body)).status == 422, body
        many = [{"text": "x"}] * 101
        assert (await api.post(f"{CHAT}/messages", {"messages": many})).code == "too_many_messages"
        assert (await api.get(CHAT)).status == 404


async def test_quotas_of_messages_are_those_of_the_owner() -> None:
    async with serve_api() as api:
        quotas = {
            "message_bytes": 10,
            "message_streams": 1,
            "stream_messages": 2,
            "stream_readers": 1,
            "stored_message_bytes": 30,
        }
        reply = await api.put("/v1/owners/ada", {"quotas": quotas}, who="admin")
        assert reply.status == 200, reply.text
        api.service.tokens._cache.clear()
        large = await api.post(f"{CHAT}/messages", {"messages": [{"text": "hello"}, {"text": "hello world"}]})
        assert (large.status, large.code) == (422, "message_too_large")
        assert large.json["errors"][0]["pointer"] == "/messages/1/text"
        assert (await api.post(f"{CHAT}/messages", {"messages": [{"text": "hello"}]})).status == 201
        for path, body, code, raised in (
            (f"{CHAT}/messages", [{"text": "two"}, {"text": "three"}], "stream_full", "stream_messages=3"),
            ("/v1/streams/other/messages", [{"text": "hello"}], "too_many_message_streams", "message_streams=2"),
            (
                f"{CHAT}/messages",
                [{"text": "hi", "references": ["x" * 40]}],
                "messages_full",
                "stored_message_bytes=53",
            ),
        ):
            refused = await api.post(path, {"messages": body})
            assert (refused.status, refused.code) == (429, code), refused.text
            assert f"horae owner set ada --quota {raised}" in refused.json["hint"]
        assert (await api.put("/v1/streams/other", {})).code == "too_many_message_streams"
        assert (await api.put(f"{CHAT}/cursors/one", {"after": 0})).status == 200
        assert (await api.put(f"{CHAT}/cursors/two", {"after": 0})).code == "too_many_readers"
        assert "--quota stream_readers=2" in (await api.put(f"{CHAT}/cursors/two", {"after": 0})).json["hint"]
        # An admin who acts for another owner is bound by no quota.
        path = "/v1/streams/other/messages?owner=ada"
        assert (await api.post(path, {"messages": [{"text": "hello world"}]}, who="admin")).status == 201
