"""What a client does when the way to its server is bad: once more with the same key, never twice done, never silently lost."""

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
from horae.wire.tasks import read_task
from tests.cli.remote.server import RunningServer, Server
from tests.client.cutting import Cutting

KEY = re.compile(r"idempotency-key: (\w+)", re.IGNORECASE)
WISH = read_task({"name": "x", "when": "every 1h", "say": "x"})


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[RunningServer]:
    server = Server(f"sqlite:///{tmp_path}/horae.db")
    yield server.start()
    server.stop()


@asynccontextmanager
async def cut_connection(opened: RunningServer) -> AsyncIterator[tuple[RemoteService, Cutting]]:
    """A client whose connection to the server can be cut."""
    door = Cutting(opened.url)
    connection = Connection(await door.open(), opened.tokens["local"], SystemClock())
    try:
        yield RemoteService(connection, SystemClock(), "UTC"), door
    finally:
        await connection.close()
        await door.close()


def keys(door: Cutting) -> list[str]:
    return [found[1] for head in door.heads if (found := KEY.search(head))]


async def test_a_post_whose_answer_was_lost_is_sent_again_with_its_key_and_done_once(opened: RunningServer) -> None:
    async with cut_connection(opened) as (service, door):
        door.to_lose = 1
        task = await service.tasks.create(LOCAL, WISH)
        assert len(keys(door)) == 2
        assert len(set(keys(door))) == 1
        page = await service.tasks.page(LOCAL)
        assert [each.task.id for each in page.items] == [task.id]
        await service.tasks.create(LOCAL, WISH)
        assert len(set(keys(door))) == 2, "another wish has another key"


async def test_a_second_loss_is_told(opened: RunningServer) -> None:
    async with cut_connection(opened) as (service, door):
        door.to_lose = 2
        with pytest.raises(ServerUnreachable) as caught:
            await service.tasks.create(LOCAL, WISH)
        assert caught.value.code == "answer_lost"
        assert len((await service.tasks.page(LOCAL)).items) == 1


async def test_an_edit_whose_answer_was_lost_is_not_sent_again(opened: RunningServer) -> None:
    """It carries the version that was seen: a second one could only be refused."""

    async with cut_connection(opened) as (service, door):
        task = await service.tasks.create(LOCAL, WISH)
        door.losing, door.to_lose = "PATCH", 1
        with pytest.raises(ServerUnreachable) as caught:
            await service.tasks.edit(LOCAL, task.id, Edits(name="y"))
        assert caught.value.code == "answer_lost"
        (sent,) = [head for head in door.heads if head.startswith("PATCH")]
        assert 'if-match: "1"' in sent.lower()
        assert (await service.tasks.get(LOCAL, task.id)).task.name == "y"


async def test_what_somebody_else_has_edited_meanwhile_is_not_edited_over(opened: RunningServer) -> None:
    async with cut_connection(opened) as (service, door):
        del door
        task = await service.tasks.create(LOCAL, WISH)
        await service.tasks.edit(LOCAL, task.id, Edits(name="y"))
        with pytest.raises(Conflict) as caught:
            await service.tasks.edit(LOCAL, task.id, Edits(name="z"), expected=1)
        assert caught.value.code == "stale_version"
        stale = {"If-Match": '"1"'}
        with pytest.raises(Conflict) as refused:
            await service.connection.request("PATCH", f"/v1/tasks/{task.id}", (), {"name": "z"}, stale)
        assert refused.value.code == "version_changed"


async def test_whatever_is_in_a_name_it_is_one_part_of_the_path(opened: RunningServer) -> None:
    async with cut_connection(opened) as (service, door):
        del door
        for number, key in enumerate(("a/b", "../x", "a?b=c", "a%2Fb", "键 & space", "#x", "a;b", "tsk_/")):
            wish: TaskRequest = WISH._replace(name=f"name {number} {key}", key=key)
            task = await service.tasks.declare(LOCAL, wish)
            assert task.key == key
            before, after = await service.tasks.preview_declaration(LOCAL, wish)
            assert before is not None
            assert (before.task.id, after.id) == (task.id, task.id)
            assert (await service.tasks.find_by_name(LOCAL, wish.name)).task.id == task.id
        for name in ("", "/", "//", "."):
            with pytest.raises(NotFound):
                await service.tasks.find_by_name(LOCAL, name)


def test_parts_of_a_path_are_spelled_so_that_they_stay_parts() -> None:
    assert path_segment("a/b c?d#e%f") == "a%2Fb%20c%3Fd%23e%25f"
    assert path_segment("tsk_0.-~:@") == "tsk_0.-~:@"


@pytest.mark.parametrize("kind", [each for each in ERROR_MAPPINGS if each is not HoraeError])
def test_every_error_comes_back_as_what_it_was(kind: type[HoraeError]) -> None:
    """By what a server says of it, in either language."""
    for language in ("en", "zh"):
        answer = ERROR_MAPPINGS[kind]
        title = answer.title if language == "en" else answer.title_zh
        found = error_from(answer.status, {"title": title, "code": "x", "detail": "no", "hint": "yes"})
        assert type(found) is kind
        again = problem_json(found, "zh" if language == "zh" else "en")
        assert (again["status"], again["title"], again["detail"]) == (answer.status, title, "no")


def test_an_error_of_no_known_kind_is_told_by_its_status() -> None:
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
def test_addresses_are_taken_without_their_last_slash(address: str) -> None:
    assert check_address(f"{address}/") == check_address(address) == address


@pytest.mark.parametrize(
    "address", ["", "h.example", "file:///x", "http://u:p@h", "http://h/?q", "http://h:99999", "http://h/#x"]
)
def test_what_is_no_address_is_refused_without_its_secret(address: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        check_address(address)
    assert caught.value.code == "bad_server_address"
    assert "u:p" not in str(caught.value)


def test_every_refusal_says_the_same_in_both_languages() -> None:
    places = re.compile(r"\{(\w+?)(?:_zh)?\}")
    for code, entry in CATALOGUE.items():
        for english, chinese in ((entry.message, entry.message_zh), (entry.hint, entry.hint_zh)):
            assert set(places.findall(english)) == set(places.findall(chinese)), code
