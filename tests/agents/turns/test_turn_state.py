"""State machine of one agent: every rule of NanoClaw's queue and runner that belongs to the target, without processes."""

from __future__ import annotations

import json

import pytest

from horae.agents.protocol import AgentResult, BadResult, Usage
from horae.agents.target.turn_state import (
    MAX_TURN_ANSWERS,
    Action,
    AgentEnded,
    BudgetUsedUp,
    CancelRequested,
    CommitResult,
    DeclareIdle,
    MessageBatch,
    MessagesFound,
    OutputDamaged,
    PipeMessages,
    ReportOutput,
    RequestClose,
    ResultRead,
    Settle,
    StopAgent,
    TimePassed,
    TurnLimits,
    TurnState,
    WriteLog,
    YieldRequested,
    last_result,
    result_json,
)
from horae.model.lanes.idle import YieldKind, YieldReason
from horae.model.limits import RESULT_BYTES
from horae.model.outcome import Cancelled, Failed, Outcome, Succeeded, TimedOut
from horae.ports.runtime import Exit

LIMITS = TurnLimits(timeout=60, idle=1_800)
FIRST = MessageBatch("hello", 2, 1, 3)
SECOND = MessageBatch("and then?", 1, 4, 5)
EXIT = AgentEnded(Exit(0, "exited"))


def message_agent() -> TurnState:
    return TurnState(LIMITS, FIRST, 0.0)


def task_agent() -> TurnState:
    return TurnState(LIMITS, None, 0.0)


def answer(text: str | None, **fields: object) -> ResultRead:
    return ResultRead(AgentResult(status="success", result=text, **fields))  # type: ignore[arg-type]


def error(text: str | None) -> ResultRead:
    return ResultRead(AgentResult(status="error", error=text))


def commits(actions: list[Action]) -> list[CommitResult]:
    return [each for each in actions if isinstance(each, CommitResult)]


def outcome(actions: list[Action]) -> Outcome:
    (settled,) = [each for each in actions if isinstance(each, Settle)]
    return settled.outcome


def idle_agent() -> TurnState:
    """A message agent that has answered its first messages at 1 s."""
    state = message_agent()
    state.handle(answer("hi"), 1.0)
    state.handle(answer(None), 1.0)
    return state


# --- results -------------------------------------------------------------------------------------------------------


def test_the_first_result_commits_the_messages_that_it_answers() -> None:
    state = message_agent()
    assert state.handle(answer("hi", new_session_id="s1"), 1.0) == [
        ReportOutput(),
        CommitResult("hi", FIRST, "s1", is_turn_end=False),
    ]
    assert commits(state.handle(answer("more"), 2.0)) == [CommitResult("more", None, None, is_turn_end=False)]
    assert (state.answers, state.answered) == (2, 2)


def test_an_agent_that_floods_its_chat_is_stopped() -> None:
    state = idle_agent()
    state.handle(MessagesFound(SECOND), 2.0)
    for _ in range(MAX_TURN_ANSWERS):
        assert commits(state.handle(answer("spam"), 3.0))
    assert state.handle(answer("spam"), 3.0) == [StopAgent("it has written too many texts")]
    assert state.handle(answer("spam"), 3.0) == []
    assert isinstance(outcome(state.handle(AgentEnded(Exit(None, "stopped")), 4.0)), Succeeded)


def test_a_null_result_acknowledges_messages_and_ends_the_turn() -> None:
    state = message_agent()
    actions = state.handle(answer(None), 1.0)
    assert commits(actions) == [CommitResult(None, FIRST, None, is_turn_end=True)]
    assert actions[-1] == DeclareIdle(is_idle=True)
    assert state.handle(answer(None), 2.0)[-1] != DeclareIdle(is_idle=True), "it is idle already"


def test_internal_text_is_not_for_the_chat() -> None:
    state = message_agent()
    (commit,) = commits(state.handle(answer("<internal>I think\nhard</internal> done "), 1.0))
    assert commit.text == "done"
    (commit,) = commits(state.handle(answer("<internal>nothing to say</internal>"), 2.0))
    assert commit.text is None
    assert state.answers == 1


def test_a_damaged_result_is_logged_and_changes_nothing() -> None:
    state = message_agent()
    (line,) = state.handle(OutputDamaged(BadResult("not_json", "the document is not JSON", "{")), 1.0)
    assert isinstance(line, WriteLog)
    assert "not JSON" in line.text
    assert outcome(state.handle(EXIT, 2.0)) == Failed("The agent ended without a result.")


def test_usage_of_all_results_is_added_up() -> None:
    state = message_agent()
    state.handle(answer("hi", usage=Usage(input_tokens=3, output_tokens=4, cost=0.5, model="m1")), 1.0)
    state.handle(answer(None, usage=Usage(input_tokens=1)), 1.0)
    assert (state.usage.input_tokens, state.usage.output_tokens, state.usage.cost) == (4, 4, 0.5)


# --- further messages ----------------------------------------------------------------------------------------------


def test_messages_are_piped_to_an_idle_agent_and_committed_with_its_next_result() -> None:
    state = idle_agent()
    assert state.takes_messages
    assert state.handle(MessagesFound(SECOND), 5.0) == [DeclareIdle(is_idle=False), PipeMessages(SECOND)]
    assert (state.takes_messages, state.handled) == (False, 5)
    assert commits(state.handle(answer("then this"), 6.0)) == [
        CommitResult("then this", SECOND, None, is_turn_end=False)
    ]
    assert outcome(state.handle(EXIT, 7.0)) == Succeeded('{"messages": 3, "answers": 2}')


def test_messages_are_not_piped_in_the_middle_of_a_turn() -> None:
    state = message_agent()
    assert state.handle(MessagesFound(SECOND), 1.0) == []
    state.handle(answer("hi"), 2.0)
    assert state.handle(MessagesFound(SECOND), 2.0) == [], "the end of the turn is a result without a text"
    assert state.handled == 3


def test_a_task_agent_takes_no_messages() -> None:
    state = task_agent()
    state.handle(answer("done"), 1.0)
    state.handle(answer(None), 1.0)
    assert not state.takes_messages
    assert state.handle(MessagesFound(SECOND), 2.0) == []


def test_a_closing_or_stopped_agent_takes_no_messages() -> None:
    closing, stopped = idle_agent(), idle_agent()
    closing.handle(YieldRequested(), 2.0)
    stopped.handle(CancelRequested(), 2.0)
    for state in (closing, stopped):
        assert state.handle(MessagesFound(SECOND), 3.0) == []


def test_messages_that_were_piped_and_not_answered_fail_the_run() -> None:
    state = idle_agent()
    state.handle(MessagesFound(SECOND), 5.0)
    assert outcome(state.handle(EXIT, 6.0)) == Failed("The agent ended before it had answered all messages.")


# --- yielding and closing ------------------------------------------------------------------------------------------


def test_an_idle_agent_that_is_asked_to_yield_is_closed_once() -> None:
    state = idle_agent()
    reason = YieldReason(YieldKind.OTHER_OWNER, "agents")
    assert state.handle(YieldRequested(reason), 2.0) == [RequestClose("asked to yield: other_owner: agents")]
    assert state.handle(YieldRequested(reason), 2.1) == []
    assert state.handle(EXIT, 3.0) == [Settle(Succeeded('{"messages": 2, "answers": 1}'))]


def test_a_working_agent_does_not_yield() -> None:
    state = message_agent()
    assert state.handle(YieldRequested(), 1.0) == []
    state = idle_agent()
    state.handle(MessagesFound(SECOND), 2.0)
    assert state.handle(YieldRequested(), 3.0) == [], "piped messages end its idleness"


def test_a_message_agent_is_closed_after_its_idle_time_which_real_results_alone_extend() -> None:
    state = idle_agent()
    state.handle(answer(None), 1_000.0)
    assert state.handle(TimePassed(), 1_800.9) == []
    assert state.handle(TimePassed(), 1_801.0) == [RequestClose("no new messages")]


def test_a_working_message_agent_is_not_closed() -> None:
    state = TurnState(TurnLimits(timeout=10_000, idle=10), FIRST, 0.0)
    state.handle(answer("part one"), 1.0)
    assert state.handle(TimePassed(), 100.0) == []


def test_a_task_agent_is_closed_ten_seconds_after_its_first_result() -> None:
    state = task_agent()
    assert state.handle(TimePassed(), 59.0) == []
    state.handle(answer("one"), 60.0)
    state.handle(answer("two"), 65.0)
    assert state.handle(TimePassed(), 69.9) == []
    assert state.handle(TimePassed(), 70.0) == [RequestClose("it has answered")]
    assert state.handle(TimePassed(), 71.0) == []


def test_a_task_agent_without_a_text_is_closed_too() -> None:
    state = task_agent()
    state.handle(answer(None), 1.0)
    assert state.handle(TimePassed(), 11.0) == [RequestClose("it has answered")]


def test_an_agent_that_does_not_close_is_stopped_and_its_run_succeeds() -> None:
    state = idle_agent()
    state.handle(YieldRequested(), 2.0)
    assert state.handle(TimePassed(), 31.9) == []
    assert state.handle(TimePassed(), 32.0) == [StopAgent("closed")]
    assert state.handle(TimePassed(), 33.0) == []
    assert isinstance(outcome(state.handle(AgentEnded(Exit(137, "stopped")), 33.0)), Succeeded)


def test_a_used_up_budget_closes_the_agent() -> None:
    state = idle_agent()
    assert state.handle(BudgetUsedUp("no tokens"), 2.0) == [
        WriteLog("no tokens", "warning"),
        RequestClose("its budget is used up"),
    ]
    assert not state.takes_messages


# --- time ----------------------------------------------------------------------------------------------------------


def test_the_hard_timeout_is_later_than_the_idle_time() -> None:
    assert TurnLimits(timeout=60, idle=1_800).hard == 1_830
    assert TurnLimits(timeout=7_200, idle=1_800).hard == 7_200


def test_nothing_extends_the_longest_time_of_a_run() -> None:
    state = TurnState(TurnLimits(timeout=60, idle=60, max_run=300), None, 0.0)
    for second in range(300):
        state.handle(answer("more"), float(second))
        assert not [each for each in state.handle(TimePassed(), float(second)) if isinstance(each, StopAgent)]
    state.handle(answer("more"), 299.9)
    assert state.handle(TimePassed(), 300.0) == [StopAgent("longest time of a run")]
    ended = outcome(state.handle(AgentEnded(Exit(137, "stopped")), 301.0))
    assert ended == TimedOut("The agent ran longer than 300 s, the limit of a run.")


def test_an_idle_agent_is_closed_before_the_longest_time_of_a_run_and_succeeds() -> None:
    state = TurnState(TurnLimits(timeout=60, idle=1_800, max_run=300), FIRST, 0.0)
    state.handle(answer("hello"), 1.0)
    state.handle(answer(None), 1.0)
    assert state.handle(TimePassed(), 269.9) == []
    assert state.handle(TimePassed(), 270.0) == [RequestClose("the run has reached its longest time")]
    assert not state.takes_messages
    assert state.handle(TimePassed(), 300.0) == [StopAgent("longest time of a run")]
    assert isinstance(outcome(state.handle(AgentEnded(Exit(137, "stopped")), 301.0)), Succeeded)


def test_a_second_agent_of_a_run_has_what_is_left_of_its_time() -> None:
    state = TurnState(TurnLimits(timeout=60, idle=60, max_run=70), FIRST, at=30.0, began=0.0)
    assert state.handle(TimePassed(), 70.0) == [StopAgent("longest time of a run")]


def test_an_agent_without_output_times_out() -> None:
    state = task_agent()
    assert state.handle(TimePassed(), 1_829.9) == []
    assert state.handle(TimePassed(), 1_830.0) == [StopAgent("timeout")]
    assert outcome(state.handle(AgentEnded(Exit(137, "stopped")), 1_831.0)) == TimedOut(
        "Container timed out after 1830000ms"
    )


def test_marked_output_moves_the_hard_timeout_and_a_timeout_after_it_is_a_success() -> None:
    state = TurnState(LIMITS, FIRST, 0.0)
    state.handle(answer("hi"), 1_000.0)
    assert state.handle(TimePassed(), 2_829.0) == []
    assert state.handle(TimePassed(), 2_830.0) == [StopAgent("timeout")]
    assert isinstance(outcome(state.handle(AgentEnded(Exit(None, "stopped")), 2_831.0)), Succeeded)


def test_piped_messages_have_a_whole_timeout_of_their_own() -> None:
    state = idle_agent()
    state.handle(MessagesFound(SECOND), 1_800.0)
    assert state.handle(TimePassed(), 3_629.0) == []
    assert state.handle(TimePassed(), 3_630.0) == [StopAgent("timeout")]
    assert isinstance(outcome(state.handle(AgentEnded(Exit(None, "stopped")), 3_631.0)), TimedOut)


# --- ends ----------------------------------------------------------------------------------------------------------


def test_a_marked_null_result_of_a_task_is_completed() -> None:
    state = task_agent()
    state.handle(answer(None), 1.0)
    assert outcome(state.handle(EXIT, 2.0)) == Succeeded('"Completed"')


def test_the_result_of_a_task_is_its_last_text_as_json() -> None:
    state = task_agent()
    state.handle(answer("one"), 1.0)
    state.handle(answer('二 "two"'), 2.0)
    assert outcome(state.handle(EXIT, 3.0)) == Succeeded('"二 \\"two\\""')


@pytest.mark.parametrize("make", [message_agent, task_agent])
def test_exit_0_without_marked_output_is_a_failure(make: object) -> None:
    state = make()  # type: ignore[operator]
    assert outcome(state.handle(EXIT, 1.0)) == Failed("The agent ended without a result.")


@pytest.mark.parametrize(("text", "shown"), [("no quota", "no quota"), (None, "Unknown error"), ("", "Unknown error")])
def test_an_error_result_fails_the_run_with_its_text(text: str | None, shown: str) -> None:
    state = task_agent()
    assert state.handle(error(text), 1.0)[-1] == WriteLog(shown, "error")
    assert outcome(state.handle(AgentEnded(Exit(1, "exited"), "trace"), 2.0)) == Failed(shown)


def test_a_refused_process_is_a_warning_in_the_log_of_the_run() -> None:
    state = task_agent()
    ended = AgentEnded(Exit(3, "exited", is_process_limited=True))
    warning, settled = state.handle(ended, 1.0)
    assert warning == WriteLog("The agent was refused further processes at its limit.", "warning")
    assert outcome([settled]) == Failed("Container exited with code 3: ")


def test_an_exit_code_fails_the_run_with_the_end_of_stderr() -> None:
    state = task_agent()
    ended = AgentEnded(Exit(3, "exited"), "x" * 300 + "boom\n")
    assert outcome(state.handle(ended, 1.0)) == Failed(f"Container exited with code 3: {'x' * 196}boom")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("not_started", "could not be started: no bwrap"),
        ("lost", "launcher"),
        ("memory_limit", "memory"),
        ("output_limit", "output"),
    ],
)
def test_other_ends_say_their_cause(cause: str, words: str) -> None:
    failed = outcome(task_agent().handle(AgentEnded(Exit(None, cause), "no bwrap"), 1.0))  # type: ignore[arg-type]
    assert isinstance(failed, Failed)
    assert words in failed.error


def test_a_turn_that_fails_after_it_has_answered_is_not_repeated() -> None:
    state = message_agent()
    state.handle(answer("hi"), 1.0)
    state.handle(error("overloaded"), 2.0)
    line, settled = state.handle(AgentEnded(Exit(1, "exited")), 3.0)
    assert isinstance(line, WriteLog)
    assert "overloaded" in line.text
    assert isinstance(settled, Settle)
    assert isinstance(settled.outcome, Succeeded)


def test_a_task_that_fails_after_a_result_has_failed() -> None:
    state = task_agent()
    state.handle(answer("hi"), 1.0)
    state.handle(error("overloaded"), 2.0)
    assert outcome(state.handle(AgentEnded(Exit(1, "exited")), 3.0)) == Failed("overloaded")


@pytest.mark.parametrize(
    "text",
    [
        "No conversation found with session ID: 12",
        "ENOENT: no such file, open '/home/x/12.jsonl'",
        "the session 12 was not found",
    ],
)
def test_an_error_about_the_session_is_recognised(text: str) -> None:
    state = message_agent()
    state.handle(error(text), 1.0)
    (settled,) = state.handle(AgentEnded(Exit(1, "exited")), 2.0)
    assert isinstance(settled, Settle)
    assert settled.is_stale


def test_other_errors_keep_the_session() -> None:
    state = message_agent()
    state.handle(error("file not found"), 1.0)
    (settled,) = state.handle(AgentEnded(Exit(1, "exited")), 2.0)
    assert isinstance(settled, Settle)
    assert not settled.is_stale


def test_a_cancelled_run_stops_its_agent() -> None:
    state = message_agent()
    assert state.handle(CancelRequested(), 1.0) == [StopAgent("cancelled")]
    assert isinstance(outcome(state.handle(AgentEnded(Exit(143, "stopped")), 2.0)), Cancelled)


# --- words ---------------------------------------------------------------------------------------------------------


def test_long_results_are_cut_to_the_limit() -> None:
    encoded = result_json("日" * RESULT_BYTES)
    assert len(encoded.encode()) <= RESULT_BYTES
    assert json.loads(encoded).endswith("…")


@pytest.mark.parametrize(
    ("summary", "has_failed", "words"),
    [
        ("no quota", True, "Error: no quota"),
        ('"hello"', False, "hello"),
        (json.dumps("x" * 300), False, "x" * 200),
        ('"a \\"cut\\" tex…', False, 'a "cut" tex…'),
        ("no JSON at all", False, "no JSON at all"),
        ('"Completed"', False, "Completed"),
        ('{"messages": 1}', False, "Completed"),
        (None, False, None),
    ],
)
def test_words_of_the_last_result(summary: str | None, has_failed: bool, words: str | None) -> None:  # noqa: FBT001
    assert last_result(summary, has_failed=has_failed) == words
