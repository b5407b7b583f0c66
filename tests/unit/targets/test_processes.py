"""Child processes: input, output, and reported ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.model.limits import LOG_LINE_CHARACTERS, LOG_LINES
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded
from horae.targets.function.origin import Origin, import_function
from horae.targets.function.target import FunctionTarget
from tests.unit.targets import functions, functions_of_an_app
from tests.unit.targets.invocations import Recorded, a_task, execute


def succeeded(outcome: Outcome) -> Any:
    assert isinstance(outcome, Succeeded), outcome
    return json.loads(outcome.result or "null")


def failed(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed), outcome
    return outcome


async def test_arguments_and_result_are_passed_as_typed_values() -> None:
    payload = {"parcel": {"label": "茶 🍵", "sent": "2026-03-01T20:00:00+08:00", "weights": [1, 2.5]}, "wait": "90s"}
    outcome, invocation = await execute(functions.ship, json.dumps(payload), "process")
    assert succeeded(outcome) == {"sent": "2026-03-01T20:00:00+08:00", "sum": 3.5, "wait": 90.0, "attempt": 2}
    assert invocation.lines == [("info", "茶 🍵, 2 pieces")]


async def test_a_payload_larger_than_a_pipe_arrives() -> None:
    outcome, _ = await execute(functions.surroundings, json.dumps({"secret": "x" * 200_000}), "process")
    assert succeeded(outcome)[0] == "200000"


async def test_output_and_log_lines_are_recorded_and_stdin_is_empty() -> None:
    outcome, invocation = await execute(functions.speak, isolate="process")
    assert succeeded(outcome) == ""
    assert sorted(invocation.texts("output")) == ["from a grandchild", "on standard error", "on standard output 你好"]
    assert invocation.texts("warning") == ["a warning"]
    assert invocation.texts("progress") == ["0.25 a quarter"]


async def test_ten_megabytes_of_output_are_truncated_without_blocking() -> None:
    outcome, invocation = await execute(functions.flood, isolate="process")
    assert succeeded(outcome) == 7
    assert len(invocation.lines) == LOG_LINES + 1
    assert invocation.lines[-1] == ("warning", "it printed more lines than are kept")


async def test_a_line_without_end_is_cut() -> None:
    outcome, invocation = await execute(functions.one_long_line, isolate="process")
    assert succeeded(outcome) is None
    assert [len(text) for text in invocation.texts("output")] == [LOG_LINE_CHARACTERS, 5]


async def test_context_has_the_same_facts_as_in_the_node() -> None:
    outside = succeeded((await execute(functions.facts, isolate="process"))[0])
    here = succeeded((await execute(functions.facts, isolate=None))[0])
    assert outside == here
    assert outside[:2] == ["occ_1", "run_1"]


async def test_the_payload_is_neither_in_the_arguments_nor_in_the_environment_of_the_process() -> None:
    outcome, _ = await execute(functions.surroundings, '{"secret": "open sesame"}', "process")
    length, arguments, environment = succeeded(outcome)
    assert length == "11"
    assert "horae.targets.function.child" in arguments
    assert "sesame" not in arguments + environment


async def test_async_function_gets_its_own_loop_in_the_process() -> None:
    assert succeeded((await execute(functions.concurrently, isolate="process"))[0]) == 3


async def test_function_in_a_process_has_no_other_children() -> None:
    assert succeeded((await execute(functions.wait_for_children, isolate="process"))[0]) == "none"


@pytest.mark.parametrize("isolate", ["process", None])
@pytest.mark.parametrize(
    ("how", "error", "permanent"),
    [
        ("fail", "never", True),
        ("exit", "SystemExit: 3", False),
        ("interrupt", "KeyboardInterrupt", False),
        ("recursion", "RecursionError: maximum recursion depth exceeded", False),
        ("odd", "ValueError: odd", False),
    ],
)
async def test_exceptions_are_reported_as_in_the_node(
    how: str,
    error: str,
    permanent: bool,  # noqa: FBT001
    isolate: None,
) -> None:
    outcome = failed((await execute(functions.refuse, json.dumps({"how": how}), isolate))[0])
    assert outcome.error.startswith(error)
    assert (outcome.permanent, outcome.died_isolated) == (permanent, False)
    assert "src/horae" not in outcome.error


async def test_verdicts_are_passed_from_the_process() -> None:
    retry = failed((await execute(functions.refuse, '{"how": "retry"}', "process"))[0])
    assert (retry.error, retry.retry_after) == ("later", timedelta(seconds=90))
    assert (await execute(functions.refuse, '{"how": "skip"}', "process"))[0] == Skipped("nothing new")


async def test_invalid_arguments_are_a_permanent_failure() -> None:
    outcome = failed((await execute(functions.leave, '{"code": "3"}', "process"))[0])
    assert outcome.permanent
    assert outcome.error == "argument 'code' of it cannot be '3' (str); wanted: int"


@pytest.mark.parametrize("alone", [False, True])
async def test_dead_process_is_an_ordinary_failure_unless_isolated(alone: bool) -> None:  # noqa: FBT001
    ended = failed((await execute(functions.leave, '{"code": 3}', "process", alone=alone))[0])
    assert ended.error == "the process ended with code 3 before it answered"
    outcome, invocation = await execute(functions.abort, isolate="process", alone=alone)
    aborted = failed(outcome)
    assert aborted.error == "the process died with signal 6 (SIGABRT)"
    assert "Fatal Python error: Aborted" in invocation.texts("output")
    assert (ended.died_isolated, aborted.died_isolated, ended.permanent) == (alone, alone, False)


async def test_poisoned_run_is_isolated_independent_of_its_function() -> None:
    outcome, invocation = await execute(functions.speak, alone=True)
    assert succeeded(outcome) == ""
    assert "on standard error" in invocation.texts("output")
    assert not failed((await execute(functions.refuse, '{"how": "odd"}', alone=True))[0]).died_isolated


async def test_isolated_function_that_cannot_be_imported_counts_as_a_death() -> None:
    outcome = failed((await execute(lambda: None, alone=True))[0])
    assert outcome.died_isolated
    assert "no other process could find it" in outcome.error


async def test_a_function_that_an_app_declared_is_found_behind_its_decorator() -> None:
    target = FunctionTarget(functions_of_an_app.app.registry)
    outcome = await target.execute(Recorded(a_task("it", '{"since": "2026-02-01"}')))
    target.close()
    assert succeeded(outcome) == [28, 2]


@pytest.fixture
def fragile(tmp_path: Path) -> Iterator[Path]:
    """A module that no search path leads to, as a command line loads a file that it was given."""
    path = tmp_path / "fragile.py"
    path.write_text("def work():\n    return 1\n")
    yield path
    sys.modules.pop("fragile", None)


@pytest.mark.parametrize("alone", [False, True])
async def test_a_module_that_can_no_longer_be_loaded(fragile: Path, alone: bool) -> None:  # noqa: FBT001
    work = import_function(Origin("fragile", "work", str(fragile)))
    assert succeeded((await execute(work, isolate="process", alone=alone))[0]) == 1
    fragile.write_text("raise OSError('the disk is gone')\n")
    outcome = failed((await execute(work, isolate="process", alone=alone))[0])
    assert outcome.error == "it cannot be loaded in a process of its own: OSError: the disk is gone"
    assert outcome.died_isolated is alone


def test_a_name_that_leads_to_another_file_here_is_loaded_from_its_own(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.py"
    path.write_text("def work():\n    return 'mine'\n")
    before = sys.modules["json"]
    assert import_function(Origin("json", "work", str(path)))() == "mine"
    assert sys.modules["json"] is before
