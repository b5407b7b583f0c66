"""Minds: what answers a prompt. `echo` repeats it (tests, demos), `command` calls a program."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from ..protocol import Usage
from .child import ChildFailed, run_child

MAX_ANSWER_BYTES: Final = 512 * 1024
"""A result is JSON of ASCII, which may have more bytes than the text; beyond 1 MiB the host refuses it."""
MAX_ANSWER_CHARACTERS: Final = 150_000
_TAIL_CHARACTERS: Final = 200


class Answer(NamedTuple):
    """Text for the chat, or None; the session to continue with; what it cost."""

    text: str | None
    session_id: str | None = None
    usage: Usage | None = None


class MindFailed(Exception):  # noqa: N818 - a result of a turn
    """The mind could not answer; the message is for the operator."""


class Mind(Protocol):
    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        """Answer the prompt of one turn, or raise `MindFailed`."""


class EchoMind:
    """Answers with the prompt. Its session counts the turns."""

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        turns = int(session_id.removeprefix("echo-")) if session_id and session_id[5:].isdecimal() else 0
        return Answer(prompt, f"echo-{turns + 1}", Usage(input_tokens=0, output_tokens=0, cost=0.0, model="echo"))


class CommandMind:
    """Calls a program for each turn: the prompt on stdin, the answer on stdout. It has no sessions."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        try:
            ended = await run_child(self._argv, prompt.encode(errors="replace"), MAX_ANSWER_BYTES)
        except ChildFailed as error:
            raise MindFailed(f"{self._argv[0]}: {error}") from None
        if ended.code != 0:
            tail = ended.stderr.decode(errors="replace").strip()[-_TAIL_CHARACTERS:]
            raise MindFailed(f"{self._argv[0]} ended with the code {ended.code}: {tail}")
        text = ended.stdout.decode(errors="replace").strip()
        if len(text) > MAX_ANSWER_CHARACTERS:
            raise MindFailed(f"{self._argv[0]} answered with more than {MAX_ANSWER_CHARACTERS} characters")
        return Answer(text or None, session_id)


async def ask(mind: Mind, prompt: str, session_id: str | None) -> Answer:
    """Ask the mind; an error that it did not expect fails the turn, not the runner."""
    try:
        return await mind.answer(prompt, session_id)
    except (MindFailed, asyncio.CancelledError):
        raise
    except Exception as error:
        raise MindFailed(f"{type(error).__name__}: {error}") from error
