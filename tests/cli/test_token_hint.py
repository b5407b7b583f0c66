"""`horae up` names a command that makes another token: as printed, it works."""

from __future__ import annotations

import re
import shlex

from tests.cli.command_line import Cli


def test_command_for_another_token_works_as_printed(cli: Cli) -> None:
    starting = ("up", "--port", "0", "--seconds", "0.2")
    assert cli.process(*starting, HORAE_API="on").code == 0
    (cli.directory / "horae.db.token").unlink()
    again = cli.process(*starting, HORAE_API="on")
    (command,) = re.findall(r"(token make .*)", again.out)
    made = cli(*shlex.split(command), "--quiet")
    assert made.code == 0, made.err
    assert made.out.startswith("horae_")
