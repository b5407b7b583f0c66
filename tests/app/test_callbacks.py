"""`app.answer` settles a run whose endpoint answered 202, with the callback token of the request."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from horae import Horae, NotFound
from horae.model.run import RunState


@pytest.mark.parametrize("options", [{}, {"callback_key": "k" * 32}], ids=["default key", "configured key"])
async def test_callback_token_of_the_request_settles_the_run(options: dict[str, str]) -> None:
    received: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def accept(request: web.Request) -> web.Response:
        received.put_nowait((request.headers["Horae-Run"], request.headers["Horae-Callback-Token"]))
        return web.Response(status=202)

    async with asyncio.timeout(30):
        site = web.Application()
        site.router.add_post("/", accept)
        http = {"allow_networks": ["127.0.0.0/8"], "callback_url": "https://horae.example", **options}
        app = Horae("memory://", targets={"http": http})
        async with TestServer(site) as server, app:
            task = await app.schedule({"http": str(server.make_url("/"))}, "now")
            run, token = await received.get()
            with pytest.raises(NotFound):
                await app.answer(run, "another", result="forged")
            await app.answer(run, token, result={"rows": 7})
            ended = await task.wait("10s")
            assert (ended.id, ended.state, ended.value) == (run, RunState.SUCCEEDED, {"rows": 7})
