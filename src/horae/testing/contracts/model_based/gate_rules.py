"""Rules of the store machine for gates: verdicts, their states and failures, and checks of a gate, with records of a run."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Final, Literal, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import rule

from ....lifecycle.control.control import check_gate
from ....lifecycle.settle import settle
from ....model.entry import EntryKind
from ....model.gate import GATE_STATE_KIND, MAX_GATE_FAILURES, GateVerdict
from ....model.inputs.run_input import RunInput
from ....model.messages import RunWrites
from ....model.outcome import Failed, Outcome, Settlement, Skipped, Succeeded, Waiting
from ....model.reason import Reason
from ....model.record import RecordWrite
from ....model.run import Run
from ...factories import DAY, NOON
from .paired_stores import Side
from .placement_rules import PlacementRules
from .strategies import NODES, inputs, numbers, optional_records

_FAILED: Final = Skipped("boom", Reason.GATE_FAILED)


class _Answer(NamedTuple):
    """What a gate and then its target answered. `behind`: with a version of the state that is not the stored one."""

    verdict: Literal["open", "closed", "none"]
    outcome: Outcome
    state: str | None = None
    behind: bool = False


_answers: Final = st.sampled_from(
    (
        _Answer("open", Succeeded(), '{"n":1}'),
        _Answer("open", Succeeded('"done"')),
        _Answer("open", Succeeded(), '"漢"', behind=True),
        _Answer("open", Failed("no luck"), '{"n":2}'),
        _Answer("open", Waiting(NOON + DAY), '{"n":3}'),
        _Answer("closed", Skipped("nothing new", Reason.GATE_CLOSED), '{"n":4}'),
        _Answer("closed", Skipped("nothing new", Reason.GATE_CLOSED)),
        _Answer("none", _FAILED),
    )
)


class GateRules(PlacementRules):
    @rule(number=numbers, answer=_answers, attached=optional_records)
    def settle_gate(self, number: int, answer: _Answer, attached: tuple[RecordWrite, ...]) -> None:
        """Settle a run with the verdict of its gate; its records and the state commit with it, or none of them."""
        run = self._gated_run(number)
        if run is not None:
            self._settle_gate(run, answer, attached)

    @rule(number=numbers, times=st.sampled_from((1, 2, MAX_GATE_FAILURES)))
    def fail_gate(self, number: int, times: int) -> None:
        """Let a gate fail so many times in a row: each time it is asked again at the end of its back-off."""
        for _ in range(times):
            run = self._gated_run(number)
            if run is None:
                return
            self._settle_gate(run, _Answer("none", _FAILED), ())
            facts = self._run(self._stores.reference.store.facts(run.task_id, None))
            retries = [each.due for each in (() if facts is None else facts.entries) if each.kind is EntryKind.RETRY]
            self._now = max([self._now, *retries[:1]])
            self._claim(NODES[0], 1_000)

    @rule(number=numbers, given=inputs)
    def check_gate(self, number: int, given: RunInput | None) -> None:
        """Request a check of the gate; it is refused where there is none."""
        self._change(number, partial(check_gate, now=self._now, given=given))

    def _gated_run(self, number: int) -> Run | None:
        """Return a live run of a task with a gate; claim what is due next if there is none."""
        for _ in range(2):
            gated = [run for run in self._live_runs() if self._has_gate(run.task_id)]
            if gated:
                return gated[number % len(gated)]
            self._advance_to_next_due()
            self.join(NODES[0])
            self._claim(NODES[0], 1_000)
        return None

    def _has_gate(self, task_id: str) -> bool:
        facts = self._run(self._stores.reference.store.facts(task_id, None))
        return facts is not None and facts.task.policies.gate is not None

    def _settle_gate(self, run: Run, answer: _Answer, attached: tuple[RecordWrite, ...]) -> None:
        claim = next((claim for run_id, claim in self._claimed if run_id == run.id), 0)
        known = self._run(self._stores.reference.store.get_record(GATE_STATE_KIND, run.task_id, run.owner))
        version = None if known is None else known.version
        if answer.behind:
            version = (version or 1) - 1 or None
        now, verdict = self._now, None
        if answer.verdict != "none":
            verdict = GateVerdict(answer.verdict == "open", now, '{"mails":[1]}', answer.state, version)
        writes = RunWrites(attached) if attached else None

        def call(side: Side) -> Coroutine[None, None, frozenset[str]]:
            report = Settlement(run.id, side.token(claim, run.id), answer.outcome, now, now, verdict, writes)
            return side.store.settle([report], side.record_settle(settle))

        self._call_both(call)
