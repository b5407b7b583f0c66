"""Turns of one agent: the prompt of the input, then further messages from the input directory until it is asked to close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...clock import Clock
from ..protocol import AgentInput, AgentResult, Usage
from .child import prompt_with_data, run_script
from .inbox import Batch, Inbox
from .minds import Answer, Mind, MindFailed, ask

POLL_SECONDS: Final = 0.5


class AgentTurns:
    """Asks the mind for one turn after another. `emit` writes a result to stdout, at once."""

    def __init__(
        self,
        mind: Mind,
        inbox: Inbox,
        emit: Callable[[AgentResult], None],
        clock: Clock,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._mind = mind
        self._inbox = inbox
        self._emit = emit
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._session_id: str | None = None

    async def run(self, given: AgentInput) -> int:
        """Return the exit code: 0 after a close request, 1 after a turn that failed."""
        self._session_id = given.session_id
        self._inbox.take_close_request()  # of an earlier agent
        prompt = given.full_prompt
        if given.script is not None and given.is_scheduled_task:
            is_woken, data = await run_script(given.script)
            if not is_woken:
                # Without a report the budget would charge what was reserved, although no model was asked.
                self._emit(AgentResult(status="success", usage=Usage(input_tokens=0, output_tokens=0, cost=0.0)))
                return 0
            prompt = prompt_with_data(given.prompt, data)
        batch = self._inbox.read()
        prompt = "\n".join([prompt, *batch.texts])
        while True:
            try:
                answer = await ask(self._mind, prompt, self._session_id)
            except MindFailed as error:
                failed = AgentResult(
                    status="error", error=str(error), new_session_id=self._session_id, usage=error.usage
                )
                self._emit(failed)
                return 1
            is_closing = self._finish_turn(answer, batch)
            if is_closing:
                return 0
            batch = await self._wait_for_messages()
            if not batch.texts:
                return 0
            prompt = "\n".join(batch.texts)

    def _finish_turn(self, answer: Answer, batch: Batch) -> bool:
        """Write the answer, acknowledge the messages of the turn, and return whether the host has asked to close."""
        self._session_id = answer.session_id
        usage = answer.usage
        if answer.text is not None:
            self._emit(AgentResult(status="success", result=answer.text, new_session_id=answer.session_id, usage=usage))
            usage = None
        batch.acknowledge()
        is_closing = self._inbox.take_close_request()
        if answer.text is None or not is_closing:
            # The turn has ended: the host may take the agent for idle now.
            self._emit(AgentResult(status="success", new_session_id=answer.session_id, usage=usage))
        return is_closing

    async def _wait_for_messages(self) -> Batch:
        """Wait for messages; an empty batch is the request to close. Messages before that request are handled first."""
        while True:
            batch = self._inbox.read()
            if batch.texts or self._inbox.take_close_request():
                return batch
            await self._clock.pause(self._poll_seconds)
