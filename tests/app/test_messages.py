"""Messages in a program: a function handles them, and its cursor moves with the success of its run alone."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from horae import Context, Horae, Refusal, Retry
from horae.testing import TimeTravel
from tests.app import message_functions

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHAT = "chat:1"


class Desk:
    """An app whose task answers each message once; `fail` makes its next runs fail after their work."""

    def __init__(self) -> None:
        self.app = Horae("memory://", zone="UTC")
        self.handled: list[str] = []
        self.fail = 0
        self.commits = False

        @self.app.task("every 1h", name="answer", retries=0, give_up_after="never")
        async def answer(context: Context) -> int:
            page = await context.messages.read(CHAT)
            for message in page.messages:
                if message.message.source != "run":
                    self.handled.append(message.message.text)
                    context.messages.send(CHAT, f"re: {message.message.text}")
                context.acknowledge(CHAT, message.number)
                if self.commits:
                    await context.commit()
            if self.fail:
                self.fail -= 1
                raise ValueError("disk full")
            return len(page.messages)

    def texts(self, time: TimeTravel) -> list[str]:
        page = time.run(self.app.messages.read(CHAT))
        return [each.message.text for each in page.messages]

    def position(self, time: TimeTravel) -> int:
        (cursor,) = time.run(self.app.messages.get(CHAT)).cursors
        return cursor.number


def send(time: TimeTravel, desk: Desk, *texts: str) -> None:
    for text in texts:
        time.run(desk.app.messages.send(CHAT, text, sender="Ada", id=text))


def test_messages_are_handled_with_the_run_that_succeeded() -> None:
    desk = Desk()
    with TimeTravel(desk.app, START) as time:
        send(time, desk, "one", "two", "one")
        time.travel("1h")
        assert desk.handled == ["one", "two"]
        assert desk.position(time) == 2
        assert desk.texts(time) == ["one", "two", "re: one", "re: two"]
        time.travel("1h")
        assert desk.handled == ["one", "two"], "its own answers are acknowledged, and nothing is handled twice"
        assert desk.position(time) == 4


def test_a_failed_run_leaves_messages_unhandled() -> None:
    desk = Desk()
    desk.fail = 1
    with TimeTravel(desk.app, START) as time:
        send(time, desk, "one")
        time.travel("1h")
        assert (desk.texts(time), desk.position(time)) == (["one"], 0)
        time.travel("1h")
        assert (desk.texts(time), desk.position(time)) == (["one", "re: one"], 1)


def test_what_is_committed_stays_when_the_run_fails() -> None:
    desk = Desk()
    desk.fail, desk.commits = 1, True
    with TimeTravel(desk.app, START) as time:
        send(time, desk, "one", "two")
        time.travel("1h")
        assert desk.position(time) == 2
        assert desk.texts(time) == ["one", "two", "re: one", "re: two"]
        assert desk.handled == ["one", "two"]


async def commit_and_retry(context: Context) -> None:
    context.messages.send(CHAT, f"attempt {context.attempt}")
    await context.commit()
    if context.attempt == 1:
        raise Retry("1m")


def test_another_attempt_does_not_send_a_committed_message_again() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("every 1h", name="greet", retries=3)(commit_and_retry)
    with TimeTravel(app, START) as time:
        time.travel("65m")
        page = time.run(app.messages.read(CHAT))
        assert [each.message.text for each in page.messages] == ["attempt 1"]


def test_a_plain_function_sends_and_acknowledges() -> None:
    app = Horae("memory://", zone="UTC")

    @app.task("every 1h", name="greet")
    def greet(context: Context) -> None:
        context.messages.send(CHAT, "hello", references=[{"url": "https://example.com"}])

    with TimeTravel(app, START) as time:
        time.travel("1h")
        (message,) = time.run(app.messages.read(CHAT)).messages
        assert (message.message.text, message.message.references) == ("hello", '[{"url":"https://example.com"}]')


def test_a_plain_function_reads_and_commits_in_virtual_time() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("every 1h", name="work", retries=0)(message_functions.handle)
    app.task(name="later")(message_functions.later)
    with TimeTravel(app, START) as time:
        time.run(app.messages.send(CHAT, "one"))
        time.travel("1h")
        assert [run.error for run in time.runs("work")] == [None]
        (cursor,) = time.run(app.messages.get(CHAT)).cursors
        assert cursor.number == 1


@pytest.mark.parametrize(("text", "code"), [("x" * 70_000, "has 70000 bytes"), ("", "neither text nor references")])
def test_a_bad_message_is_refused_where_it_is_sent(text: str, code: str) -> None:
    app = Horae("memory://", zone="UTC")

    @app.task("every 1h", name="greet", retries=0, give_up_after="never")
    def greet(context: Context) -> None:
        context.messages.send(CHAT, text)

    with TimeTravel(app, START) as time:
        time.travel("1h")
        (run,) = time.runs("greet")
        assert code in (run.error or "")


def test_an_absent_stream_is_refused() -> None:
    desk = Desk()
    with TimeTravel(desk.app, START) as time:
        time.travel("1h")
        (run,) = time.runs("answer")
        assert "There is no stream 'chat:1'" in (run.error or "")


async def test_messages_of_a_program() -> None:
    app = Horae("memory://", zone="UTC", engine=False)
    async with app:
        assert await app.messages.send(CHAT, "one", references=["a"]) == 1
        await app.messages.keep(CHAT, count=5, age="30d")
        assert [(each.name, each.keep) for each in await app.messages.streams()] == [(CHAT, 5)]
        cursor = await app.messages.register(CHAT, "mine", after=0)
        assert cursor.number == 0
        assert len((await app.messages.read(CHAT, reader="mine")).messages) == 1
        await app.messages.unregister(CHAT, "mine")
        with pytest.raises(Refusal):
            await app.messages.read(CHAT, reader="mine")
        await app.messages.delete(CHAT)
        assert await app.messages.streams() == []


async def test_a_listener_hears_of_new_messages_without_their_text() -> None:
    app = Horae("memory://", zone="UTC", engine=False)
    heard: asyncio.Queue[Any] = asyncio.Queue()

    @app.on("message.appended")
    async def listen(event: Any) -> None:
        heard.put_nowait(event)

    async with app:
        await app.messages.send(CHAT, "secret words")
        event = await asyncio.wait_for(heard.get(), 30)
        assert json.loads(event.detail) == {"stream": CHAT, "first": 1, "last": 1}
        assert "secret" not in repr(event)
