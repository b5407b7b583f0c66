"""docs/operations.md: its commands run and print the documented output; named commands, files and variables exist."""

from __future__ import annotations

import re
import shlex
from typing import Any, Final, NamedTuple

from horae.cli.main import app
from tests.cli.operating.deployment import Deployment
from tests.deploy.test_update import SCRIPT
from tests.docs.pages import ROOT, text_of

PAGE: Final = text_of("operations.md")
_PAIR: Final = re.compile(r"^```sh\n(.+?)\n```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VARYING: Final = (
    (r"\b(tsk|run|nod)_[0-9a-f]{32}", r"\1"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b", "day"),
    # A relative time has a varying number of parts.
    (r"\bin \d+ \w+( \d+ \w+)*", "soon"),
    # Only the state of a node: the rest differs between machines.
    (r"^nod .* (\w+)$", r"nod \1"),
    (r"[-\d.:+TZ]*\d[-\d.:+TZ]*", "0"),
    (r" +", " "),
)
ALLOWED: Final = {"HORAE_COMMAND_ALLOW": "/bin/false"}


class Shown(NamedTuple):
    commands: tuple[str, ...]
    lines: tuple[str, ...]


SHOWN: Final = [Shown(tuple(commands.splitlines()), tuple(text.splitlines())) for commands, text in _PAIR.findall(PAGE)]


def shape(line: str) -> str:
    """Replace the parts that differ between runs: ids, numbers, days, host names, column widths."""
    for pattern, instead in _VARYING:
        line = re.sub(pattern, instead, line)
    return line.strip()


def leave_a_dead_node(deployment: Deployment) -> None:
    deployment.up("--no-api").ready().kill_all()


def output_of(deployment: Deployment, commands: tuple[str, ...]) -> str:
    """Run the commands and return the output of the last one."""
    output = ""
    for each in commands:
        if each == "horae nodes":
            leave_a_dead_node(deployment)
        done = deployment.horae(*shlex.split(each)[1:], environment=ALLOWED)
        output = done.stdout + done.stderr
    return output


def test_commands_print_the_documented_output(deployment: Deployment) -> None:
    assert len(SHOWN) == 10
    for commands, lines in SHOWN:
        output = [shape(line) for line in output_of(deployment, commands).splitlines()]
        for line in lines:
            assert shape(line) in output, f"{commands}: {shape(line)!r} is not in {output}"


def test_every_named_command_exists() -> None:
    group: Any = app
    names = set(re.findall(r"(?:^|`|# |\$ |exec horae )horae ([a-z]+)", PAGE, re.MULTILINE))
    assert len(names) > 5
    for name in names:
        assert group.get_command(None, name) is not None, name


def test_every_named_file_exists() -> None:
    names = re.findall(r"(?:deploy|tests)/[\w./@-]*\w", PAGE)
    assert len(names) > 5
    for name in names:
        assert name == "deploy/.env" or (ROOT / name).exists(), name


def test_documented_update_variables_match_the_script() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    found = set(re.findall(r"^#   (HORAE_\w+)|, (HORAE_\w+)", script, re.MULTILINE))
    names = {each for pair in found for each in pair if each}
    assert names == set(re.findall(r"\$\{(HORAE_\w+)[:-]", script)) - {"HORAE_STORE"}
