"""The interface of a mind: it answers the prompt of one turn, or fails with a text for the operator."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, Protocol

from ...protocol import Usage

MAX_ANSWER_CHARACTERS: Final = 150_000
"""A result is JSON of ASCII, which may have more bytes than the text; beyond 1 MiB the host refuses it."""
CUT_NOTE: Final = "\n\n[The answer was cut here: it is too long.]"
STALE_SESSION: Final = "No conversation found with session ID"
"""The host knows this text: it begins a new session."""


class Answer(NamedTuple):
    """Text for the chat, or None; the session to continue with; the usage."""

    text: str | None
    session_id: str | None = None
    usage: Usage | None = None


class MindFailed(Exception):  # noqa: N818 - a result of a turn
    """The mind could not answer; the message is for the operator. `usage` counts the tokens that were consumed before the error."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class Mind(Protocol):
    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        """Answer the prompt of one turn, or raise `MindFailed`."""


async def ask(mind: Mind, prompt: str, session_id: str | None) -> Answer:
    """Ask the mind; an error that it did not expect fails the turn, not the runner."""
    try:
        return await mind.answer(prompt, session_id)
    except (MindFailed, asyncio.CancelledError):
        raise
    except Exception as error:
        raise MindFailed(f"{type(error).__name__}: {error}") from error


def limit_answer(text: str) -> str:
    """Return the text, cut with a note if it is longer than a result may be."""
    if len(text) <= MAX_ANSWER_CHARACTERS:
        return text
    return text[: MAX_ANSWER_CHARACTERS - len(CUT_NOTE)] + CUT_NOTE
