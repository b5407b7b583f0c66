"""Environment, limits and exit codes of commands."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.reason import Reason
from tests.unit.targets.command.command_setup import ANYTHING, a_target, an_invocation, execute, shell

MEGABYTE = 1024**2


def result(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Succeeded), outcome
    decoded = json.loads(outcome.result or "")
    assert isinstance(decoded, dict)
    return decoded


def output(outcome: Outcome) -> str:
    return str(result(outcome)["output"])


async def test_a_program_runs_and_its_output_is_the_result() -> None:
    outcome, invocation = await execute({"argv": ["echo", "two  spaces", "$HOME; *"]})
    assert result(outcome) == {"exit": 0, "output": "two  spaces $HOME; *"}
    assert invocation.lines == [("output", "two  spaces $HOME; *")]
    assert invocation.heartbeats > 0


async def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_MASTER_KEY", "not for commands")
    outcome, invocation = await execute({"argv": ["env"], "environment": {"COLOUR": "green=blue", "EMPTY": ""}})
    run = invocation.run
    assert output(outcome).splitlines() == [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
        f"HORAE_TASK_ID={invocation.task.id}",
        f"HORAE_RUN_ID={run.id}",
        f"HORAE_KEY={invocation.key}",
        f"HORAE_TRACE={invocation.trace}",
        f"HORAE_PLANNED={run.planned.isoformat()}",
        "HORAE_ATTEMPT=1",
        "COLOUR=green=blue",
        "EMPTY=",
    ]


async def test_nothing_is_inherited_but_the_three_streams() -> None:
    with socket.socket() as left_open:
        left_open.set_inheritable(True)
        outcome, _ = await execute({"argv": ["ls", "/proc/self/fd"]})
    assert output(outcome).split() == ["0", "1", "2", "3"]  # the last is the folder itself


async def test_command_has_its_own_session_and_default_signals() -> None:
    facts = "import os, signal; print(os.getsid(0) == os.getpid() == os.getpgid(0), os.umask(0), "
    signals = "[n.name for n in signal.valid_signals() if n in list(signal.Signals) and signal.getsignal(n) is signal.SIG_IGN])"
    outcome, _ = await execute({"argv": [sys.executable, "-c", facts + signals]})
    # Python itself ignores these two.
    assert output(outcome) == f"True {0o077} ['SIGPIPE', 'SIGXFSZ']"
    ignored, _ = await execute({"argv": ["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]})
    # Signals 32 and 33 are the C library's own: no program can set them, so inherited values stay.
    ours = ~(0b11 << 31)
    assert [int(line.split()[1], 16) & ours for line in output(ignored).splitlines()] == [0, 0]


async def test_each_run_has_a_private_folder_that_is_removed() -> None:
    script = "pwd; stat -c %a .; mkdir -p a/b; touch a/b/c 'a/b/-n d'; ln -s / a/root; chmod 000 a/b; chmod 500 ."
    outcome, _ = await execute(shell(script))
    folder, mode = output(outcome).splitlines()
    assert mode == "700"
    assert not Path(folder).exists()
    assert Path("/bin").exists()


async def test_operator_sets_the_working_directory(tmp_path: Path) -> None:
    settings = {**ANYTHING, "directory": str(tmp_path)}
    tmp_path.joinpath("reports").mkdir()
    outcome, _ = await execute(shell("pwd; touch here"), settings)
    assert output(outcome) == str(tmp_path.resolve())
    assert tmp_path.joinpath("here").exists()
    inside, _ = await execute(shell("pwd", directory="reports"), settings)
    assert output(inside) == str(tmp_path.resolve() / "reports")


async def test_folder_outside_of_the_allowed_root_is_refused_at_run_time(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.joinpath("out").symlink_to(tmp_path)
    outcome, _ = await execute(shell("pwd", directory="out"), {**ANYTHING, "directory": str(place)})
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert "cannot run in 'out'" in outcome.error


async def test_a_folder_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    outcome, _ = await execute(shell("pwd", directory="gone"), {**ANYTHING, "directory": str(tmp_path)})
    assert outcome == Failed("its directory cannot be used: No such file or directory")


@pytest.mark.parametrize(
    ("stdin", "payload", "read"),
    [
        (None, {"a": 1}, ""),
        ("two\nlines", None, "two\nlines"),
        ("payload", {"a": ["é", 1.5]}, '{"a":["é",1.5]}\n'),
        ("payload", "a text", '"a text"\n'),
        ("payload", None, "null\n"),
        ({"deep": [1]}, None, '{"deep":[1]}\n'),
        ([], None, "[]\n"),
        ("x" * 200_000, None, "x" * 200_000),
    ],
)
async def test_standard_input_of_a_command(stdin: Any, payload: Any, read: str) -> None:
    count = "import sys; text = sys.stdin.read(); print(len(text), ascii(text[:50]))"
    outcome, _ = await execute({"argv": [sys.executable, "-c", count], "stdin": stdin}, payload=payload)
    assert output(outcome) == f"{len(read)} {read[:50]!a}"


async def test_unread_input_is_ignored() -> None:
    outcome, _ = await execute({"argv": ["true"], "stdin": "x" * 200_000})
    assert isinstance(outcome, Succeeded)


async def test_secret_is_visible_to_the_command_only() -> None:
    secret = "line one of it\nline two of it"  # noqa: S105 - made up
    spec = shell(
        'test "$TOKEN" = "line one of it\nline two of it" && echo same; echo "$TOKEN"; cat; echo "$TOKEN" >&2',
        environment={"TOKEN": {"secret": "token"}},
        stdin={"token": {"secret": "token"}},
    )
    outcome, invocation = await execute(spec, secrets={"token": secret})
    assert output(outcome).splitlines()[0] == "same"
    shown = f"{outcome} {invocation.lines}"
    assert "line one" not in shown
    assert "line two" not in shown


async def test_a_payload_that_names_a_secret_is_filled_too() -> None:
    outcome, _ = await execute(
        shell("read line; test ${#line} -gt 25 && echo filled", stdin="payload"),
        payload={"token": {"secret": "token"}},
        secrets={"token": "long and quite secret"},
    )
    assert output(outcome) == "filled"


async def test_secret_unfit_for_the_environment_is_a_permanent_failure() -> None:
    outcome, _ = await execute(
        shell("true", environment={"TOKEN": {"secret": "token"}}), secrets={"token": "half\0half"}
    )
    assert isinstance(outcome, Failed)
    assert outcome.permanent


@pytest.mark.parametrize(
    ("script", "error"), [("exit 3", "exit code 3"), ("echo why >&2; exit 75", "exit code 75\nwhy")]
)
async def test_nonzero_exit_code_is_a_transient_failure(script: str, error: str) -> None:
    assert (await execute(shell(script)))[0] == Failed(error)


async def test_exit_codes_can_be_declared_a_success() -> None:
    outcome, _ = await execute(shell("exit 3", success=[0, 3]))
    assert result(outcome) == {"exit": 3, "output": ""}


async def test_error_ends_with_the_last_output() -> None:
    script = "i=0; while [ $i -lt 500 ]; do echo noise; echo problem $i >&2; i=$((i + 1)); done; exit 1"
    outcome, _ = await execute(shell(script))
    assert isinstance(outcome, Failed)
    first, *lines = outcome.error.splitlines()
    assert first == "exit code 1"
    assert lines == [f"problem {number}" for number in range(480, 500)]


async def test_missing_program_is_a_permanent_failure() -> None:
    outcome, _ = await execute({"argv": ["no-such-program-anywhere"]})
    assert isinstance(outcome, Failed)
    assert (outcome.permanent, outcome.reason) == (True, Reason.TARGET_UNKNOWN)


@pytest.mark.parametrize(
    ("text", "mode", "says"), [("#!/no/such/interpreter\n", 0o755, "No such file"), ("\1", 0o755, "Exec format")]
)
async def test_program_that_cannot_start_is_a_permanent_failure(
    text: str, mode: int, says: str, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text(text, encoding="utf-8")
    program.chmod(mode)
    outcome, _ = await execute({"argv": [str(program)]})
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert says in outcome.error


async def test_changed_symlink_is_refused_at_run_time(tmp_path: Path) -> None:
    link = tmp_path / "tool"
    settings = {"allow": [str(link)]}
    link.symlink_to("/bin/true")
    target, invocation = a_target(settings), an_invocation({"argv": [str(link)]}, settings)
    assert isinstance((await target.execute(invocation)), Succeeded)
    link.unlink()
    link.symlink_to("/bin/false")
    outcome = await target.execute(invocation)
    assert isinstance(outcome, Failed)
    assert "now leads elsewhere" in outcome.error
    assert (outcome.permanent, outcome.reason) == (True, Reason.TARGET_NOT_ALLOWED)


@pytest.mark.parametrize("allow", [[], ["false"]])
async def test_program_removed_from_the_allow_list_is_refused_at_run_time(allow: list[str]) -> None:
    invocation = an_invocation({"argv": ["true"]}, {"allow": ["true"]})
    outcome = await a_target({"allow": allow}).execute(invocation)
    assert isinstance(outcome, Failed)
    assert (outcome.permanent, outcome.reason) == (True, Reason.TARGET_NOT_ALLOWED)


async def test_memory_is_limited() -> None:
    spec = {"argv": [sys.executable, "-c", "bytearray(300 * 1024**2)"], "limits": {"memory": 200 * MEGABYTE}}
    outcome, _ = await execute(spec)
    assert isinstance(outcome, Failed)
    assert outcome.error.endswith("MemoryError")


async def test_processor_time_is_limited() -> None:
    outcome, _ = await execute(shell("while :; do :; done", limits={"cpu": 1}))
    assert outcome == Failed("killed by signal 24 (SIGXCPU), at its limit of processor time")


async def test_file_size_is_limited() -> None:
    outcome, _ = await execute(shell("exec head -c 100000 /dev/zero > big", limits={"file_size": 1000}))
    assert outcome == Failed("killed by signal 25 (SIGXFSZ), at its limit of file size")


async def test_limits_of_spec_and_operator_are_set() -> None:
    settings = {**ANYTHING, "limits": {"files": 50, "processes": 9999}}
    outcome, _ = await execute(
        shell("ulimit -n; ulimit -u 2>/dev/null || ulimit -p; ulimit -c", limits={"files": 20}), settings
    )
    assert output(outcome).split() == ["20", "9999", "0"]


async def test_nothing_is_left_of_the_folder_of_a_failed_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    program.chmod(0o755)
    await execute({"argv": [str(program)]})
    assert os.listdir(tmp_path) == ["program"]  # noqa: PTH208 - names read better
