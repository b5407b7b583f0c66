"""Client connection: a lost response is retried once with the same idempotency key, and errors keep their class."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from horae.client.connection import Connection, check_address, path_segment
from horae.client.problems import error_from
from horae.client.refusals import CATALOGUE
from horae.client.service import RemoteService
from horae.clock import SystemClock
from horae.errors import Conflict, HoraeError, InvalidTask, NotFound, Refusal, ServerUnreachable, StoreFull
from horae.model.accounts.principal import LOCAL
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.wire.problems import ERROR_MAPPINGS, problem_json
from horae.wire.tasks.task import read_task
from tests.cli.remote.server import RunningServer, Server
from tests.client.lossy_proxy import LossyProxy

KEY = re.compile(r"idempotency-key: (\w+)", re.IGNORECASE)
REQUEST = read_task({"name": "x", "when": "every 1h", "say": "x"})


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[RunningServer]:
    server = Server(f"sqlite:///{tmp_path}/horae.db")
    yield server.start()
    server.stop()


@asynccontextmanager
async def lossy_connection(opened: RunningServer) -> AsyncIterator[tuple[RemoteService, LossyProxy]]:
    """Yield a client that is connected to the server through a lossy proxy."""
    proxy = LossyProxy(opened.url)
    connection = Connection(await proxy.open(), opened.tokens["local"], SystemClock())
    try:
        yield RemoteService(connection, SystemClock(), "UTC"), proxy
    finally:
        await connection.close()
        await proxy.close()


def keys(proxy: LossyProxy) -> list[str]:
    return [found[1] for head in proxy.heads if (found := KEY.search(head))]


async def test_post_with_a_lost_response_is_retried_with_its_key_and_executed_once(opened: RunningServer) -> None:
    async with lossy_connection(opened) as (service, proxy):
        proxy.losses = 1
        task = await service.tasks.create(LOCAL, REQUEST)
        assert len(keys(proxy)) == 2
        assert len(set(keys(proxy))) == 1
        page = await service.tasks.page(LOCAL)
        assert [each.task.id for each in page.items] == [task.id]
        await service.tasks.create(LOCAL, REQUEST)
        assert len(set(keys(proxy))) == 2, "another request has another key"


async def test_second_lost_response_raises(opened: RunningServer) -> None:
    async with lossy_connection(opened) as (service, proxy):
        proxy.losses = 2
        with pytest.raises(ServerUnreachable) as caught:
            await service.tasks.create(LOCAL, REQUEST)
        assert caught.value.code == "answer_lost"
        assert len((await service.tasks.page(LOCAL)).items) == 1


async def test_edit_with_a_lost_response_is_not_retried(opened: RunningServer) -> None:
    """An edit has the version in `If-Match`: a retry could only be refused."""

    async with lossy_connection(opened) as (service, proxy):
        task = await service.tasks.create(LOCAL, REQUEST)
        proxy.lossy_prefix, proxy.losses = "PATCH", 1
        with pytest.raises(ServerUnreachable) as caught:
            await service.tasks.edit(LOCAL, task.id, Edits(name="y"))
        assert caught.value.code == "answer_lost"
        (sent,) = [head for head in proxy.heads if head.startswith("PATCH")]
        assert 'if-match: "1"' in sent.lower()
        assert (await service.tasks.get(LOCAL, task.id)).task.name == "y"


async def test_concurrent_edit_is_not_overwritten(opened: RunningServer) -> None:
    async with lossy_connection(opened) as (service, proxy):
        del proxy
        task = await service.tasks.create(LOCAL, REQUEST)
        await service.tasks.edit(LOCAL, task.id, Edits(name="y"))
        with pytest.raises(Conflict) as caught:
            await service.tasks.edit(LOCAL, task.id, Edits(name="z"), expected=1)
        assert caught.value.code == "stale_version"
        stale = {"If-Match": '"1"'}
        with pytest.raises(Conflict) as refused:
            await service.connection.request("PATCH", f"/v1/tasks/{task.id}", (), {"name": "z"}, stale)
        assert refused.value.code == "version_changed"


async def test_special_characters_in_keys_and_names_stay_in_one_path_segment(opened: RunningServer) -> None:
    async with lossy_connection(opened) as (service, proxy):
        del proxy
        for number, key in enumerate(("a/b", "../x", "a?b=c", "a%2Fb", "键 & space", "#x", "a;b", "tsk_/")):
            request: TaskRequest = REQUEST._replace(name=f"name {number} {key}", key=key)
            task = await service.tasks.declare(LOCAL, request)
            assert task.key == key
            before, after = await service.tasks.preview_declaration(LOCAL, request)
            assert before is not None
            assert (before.task.id, after.id) == (task.id, task.id)
            assert (await service.tasks.find_by_name(LOCAL, request.name)).task.id == task.id
        for name in ("", "/", "//", "."):
            with pytest.raises(NotFound):
                await service.tasks.find_by_name(LOCAL, name)


def test_path_segment_is_percent_encoded() -> None:
    assert path_segment("a/b c?d#e%f") == "a%2Fb%20c%3Fd%23e%25f"
    assert path_segment("tsk_0.-~:@") == "tsk_0.-~:@"


@pytest.mark.parametrize("kind", [each for each in ERROR_MAPPINGS if each is not HoraeError])
def test_error_is_read_as_its_own_class_in_both_languages(kind: type[HoraeError]) -> None:
    """The class is found by the title of the problem."""
    for language in ("en", "zh"):
        answer = ERROR_MAPPINGS[kind]
        title = answer.title if language == "en" else answer.title_zh
        found = error_from(answer.status, {"title": title, "code": "x", "detail": "no", "hint": "yes"})
        assert type(found) is kind
        again = problem_json(found, "zh" if language == "zh" else "en")
        assert (again["status"], again["title"], again["detail"]) == (answer.status, title, "no")


def test_unknown_error_is_mapped_by_its_status() -> None:
    assert type(error_from(412, {"title": "?"})) is Conflict
    assert type(error_from(404, {"title": "?"})) is NotFound
    assert type(error_from(507, {"title": "?"})) is StoreFull
    assert type(error_from(418, {"title": "?"})) is InvalidTask
    found = error_from(422, {"title": "?", "code": "x", "detail": "no", "errors": [{"position": 3}]})
    assert isinstance(found, Refusal)
    assert (found.code, found.position) == ("x", 3)


@pytest.mark.parametrize(
    "address", ["https://h.example", "http://127.0.0.1:4672", "https://h.example/horae", "http://[::1]:1"]
)
def test_trailing_slash_of_an_address_is_removed(address: str) -> None:
    assert check_address(f"{address}/") == check_address(address) == address


@pytest.mark.parametrize(
    "address", ["", "h.example", "file:///x", "http://u:p@h", "http://h/?q", "http://h:99999", "http://h/#x"]
)
def test_invalid_address_is_refused_without_showing_its_password(address: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        check_address(address)
    assert caught.value.code == "bad_server_address"
    assert "u:p" not in str(caught.value)


def test_every_refusal_has_the_same_facts_in_both_languages() -> None:
    places = re.compile(r"\{(\w+?)(?:_zh)?\}")
    for code, entry in CATALOGUE.items():
        for english, chinese in ((entry.message, entry.message_zh), (entry.hint, entry.hint_zh)):
            assert set(places.findall(english)) == set(places.findall(chinese)), code
