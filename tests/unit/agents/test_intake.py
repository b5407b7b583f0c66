"""Intake and reconnection of channels: storable messages, order, repetitions, delays, defects."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.agents.channels.intake import REMEMBERED, Intake, ListenerFailed, storable
from horae.agents.channels.reconnect import ConnectionReport, SessionEnded, backoff, keep_connected
from horae.agents.channels.refusals import refuse
from horae.errors import Refusal
from horae.model.messages import NewMessage, check_message
from horae.ports.channel import IncomingMessage, QuotedMessage
from horae.testing.contracts.channels import ImpatientClock, RecordingListener
from horae.testing.factories import NOON


def a_message(source_id: str = "1", text: str = "hello") -> IncomingMessage:
    return IncomingMessage("chat", "1", source_id, "ann", "Ann", text, NOON)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "好" * 40_000, "x" * 70_000, "\ud83d\ude00"])
def test_any_text_can_be_stored(text: str) -> None:
    hostile = a_message("s" * 5_000 + "\0", text)._replace(
        sender="x\0" * 300, sender_name="\ud800" * 300, quoted=QuotedMessage("\0", "\0", text)
    )
    message = storable(hostile)
    check_message(NewMessage("chat:1", message.text, message.sender, "telegram", message.source_id, NOON))
    assert message.is_truncated is (len(text) > 30_000)
    assert message.quoted is not None
    message.quoted.text.encode()
    message.sender_name.encode()


def test_ordinary_message_is_unchanged() -> None:
    assert storable(a_message()) == a_message()


async def test_message_is_remembered_only_after_it_was_kept() -> None:
    listener = RecordingListener()
    intake = Intake(listener)
    listener.failures = 1
    with pytest.raises(ListenerFailed):
        await intake.accept(a_message())
    await intake.accept(a_message())
    await intake.accept(a_message())
    assert listener.messages.qsize() == 1


async def test_number_of_remembered_ids_is_limited() -> None:
    intake = Intake(RecordingListener())
    for number in range(REMEMBERED + 10):
        await intake.accept(a_message(str(number)))
    assert len(intake._received) == REMEMBERED


class Sessions:
    """Ends each session with the next of these errors; None: it returns."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.connects = True

    async def __call__(self, report: ConnectionReport) -> None:
        if self.connects:
            report.connected()
        if not self.errors:
            await asyncio.Event().wait()
        error = self.errors.pop(0)
        if error is not None:
            raise error


async def run(sessions: Sessions) -> tuple[RecordingListener, ImpatientClock]:
    """Run the sessions until the last of them, a refusal."""
    listener, clock = RecordingListener(), ImpatientClock()
    sessions.errors.append(refuse("channel_credentials", service="x", problem="revoked"))
    with pytest.raises(Refusal):
        await keep_connected(sessions, listener, clock, "x")
    return listener, clock


async def test_delays_double_up_to_a_minute_and_begin_again_after_a_connection() -> None:
    sessions = Sessions(*[SessionEnded("down")] * 9)
    sessions.connects = False
    _, clock = await run(sessions)
    assert clock.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    _, clock = await run(Sessions(*[SessionEnded("down")] * 3))
    assert clock.pauses == [1, 1, 1]
    assert backoff(10**6) == 60


async def test_delay_of_the_service_counts() -> None:
    listener, clock = await run(Sessions(SessionEnded("limited", timedelta(seconds=33))))
    assert clock.pauses == [33]
    assert listener.states[1].retry_in == timedelta(seconds=33)


async def test_session_that_returns_is_followed_at_once() -> None:
    listener, clock = await run(Sessions(None, None))
    assert clock.pauses == []
    assert [state.is_connected for state in listener.states] == [True]


async def test_defect_of_an_adapter_does_not_end_the_channel(caplog: pytest.LogCaptureFixture) -> None:
    listener, _ = await run(Sessions(KeyError("secret"), ListenerFailed(OSError("secret"))))
    assert [state.problem for state in listener.states if not state.is_connected] == [
        "unexpected KeyError",
        "a message could not be stored (OSError)",
    ]
    assert "KeyError at test_intake.py" in caplog.text
    assert "secret" not in caplog.text
