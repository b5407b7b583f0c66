"""Specs of commands: accepted forms and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.targets.command.refusals import CATALOGUE
from horae.targets.command.target import COMMAND

SOURCE = Path(__file__).parents[4] / "src" / "horae" / "targets" / "command"
ALL_TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py") if path.name != "refusals.py")
ANYTHING = {"allow": "*"}


def code(spec: Any, settings: Mapping[str, Any] = ANYTHING) -> str:
    with pytest.raises(InvalidTask) as refused:
        COMMAND.check(spec, None, settings)
    return refused.value.code


def test_the_shortest_spec_is_made_complete() -> None:
    assert COMMAND.check({"argv": ["true"]}, None, ANYTHING) == {
        "argv": ["true"],
        "directory": None,
        "environment": {},
        "stdin": None,
        "output": 65_536,
        "limits": {},
        "success": [0],
    }


def test_complete_spec_is_unchanged() -> None:
    spec = {
        "argv": ["/usr/bin/backup", "--all"],
        "directory": "daily",
        "environment": {"A": "1", "TOKEN": {"secret": "token"}},
        "stdin": {"deep": [{"secret": "token"}]},
        "output": 100,
        "limits": {"memory": 2**30, "cpu": 60, "files": 100, "processes": 10, "file_size": 0},
        "success": [0, 2],
    }
    assert COMMAND.check(spec, None, {"allow": ["/usr/bin/backup"], "directory": "/srv"}) == spec


def test_shell_string_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidTask) as refused:
        COMMAND.check({"argv": "sh -c 'rm -rf /'"}, None, ANYTHING)
    assert refused.value.code == "command_shell"
    assert "list" in refused.value.hint


@pytest.mark.parametrize(
    ("argv", "refused"),
    [
        (None, "command_argv"),
        ([], "command_argv"),
        ([""], "command_argv"),
        ([1], "command_argv"),
        (["a\0b"], "command_argv"),
        (["true", "\ud800"], "command_argv"),
        (["./script"], "command_argv"),
        (["bin/script"], "command_argv"),
        (["/bin/"], "command_argv"),
        (["true", *("x" for _ in range(1_000))], "command_argv"),
        (["true", "x" * 70_000], "command_argv"),
        (["true", {"secret": "token"}], "command_secret_in_argv"),
    ],
)
def test_arguments_that_no_program_can_be_given(argv: Any, refused: str) -> None:
    assert code({"argv": argv}) == refused


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({"shell": True}, "command_unknown_key"),
        ({"environment": {"A B": "x"}}, "command_variable"),
        ({"environment": {"A": 1}}, "command_variable"),
        ({"environment": {"A": "\0"}}, "command_variable"),
        ({"environment": {"A": {"secret": 1}}}, "command_variable"),
        ({"environment": ["A"]}, "command_spec"),
        ({"environment": {"PATH": "/home"}}, "command_variable_reserved"),
        ({"environment": {"LD_PRELOAD": "/home/x.so"}}, "command_variable_reserved"),
        ({"environment": {"PYTHONPATH": "/home"}}, "command_variable_reserved"),
        ({"environment": {"BASH_ENV": "/home/x"}}, "command_variable_reserved"),
        ({"environment": {"HORAE_KEY": "x"}}, "command_variable_reserved"),
        ({"environment": {f"N{number}": "" for number in range(101)}}, "command_number"),
        ({"stdin": float("nan")}, "command_stdin"),
        ({"stdin": "x" * 300_000}, "command_stdin"),
        ({"stdin": {1, 2}}, "command_stdin"),
        ({"output": -1}, "command_number"),
        ({"output": True}, "command_number"),
        ({"limits": {"memory": 1}}, "command_number"),
        ({"limits": {"cpu": 0}}, "command_number"),
        ({"limits": {"luck": 1}}, "command_unknown_key"),
        ({"limits": [1]}, "command_spec"),
        ({"success": []}, "command_success"),
        ({"success": [256]}, "command_success"),
        ({"success": [True]}, "command_success"),
        ({"success": 0}, "command_success"),
        ({"directory": "anywhere"}, "command_directory"),
    ],
)
def test_invalid_spec_is_refused(more: dict[str, Any], refused: str) -> None:
    assert code({"argv": ["true"], **more}) == refused


@pytest.mark.parametrize("directory", ["../etc", "/etc", "a/../../b", "/srv/jobs-not", "", "a\0b"])
def test_a_directory_outside_the_place_is_refused(directory: str) -> None:
    assert (
        code({"argv": ["true"], "directory": directory}, {"allow": "*", "directory": "/srv/jobs"})
        == "command_directory"
    )


def test_a_task_may_not_ask_for_more_than_the_operator_gives() -> None:
    settings = {"allow": "*", "limits": {"memory": 100 * 1024**2}}
    assert code({"argv": ["true"], "limits": {"memory": 200 * 1024**2}}, settings) == "command_number"
    COMMAND.check({"argv": ["true"], "limits": {"memory": 50 * 1024**2}}, None, settings)


@pytest.mark.parametrize("settings", [{}, {"allow": []}, {"allow": None}, {"allow": ""}])
def test_without_a_list_every_command_is_refused(settings: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidTask) as refused:
        COMMAND.check({"argv": ["true"]}, None, settings)
    assert refused.value.code == "command_none_allowed"
    for language in ("en", "zh"):
        hint = refused.value.in_language(language).hint
        assert 'allow = ["true"]' in hint
        assert "[targets.command]" in hint
        assert "HORAE_COMMAND_ALLOW=true" in hint


def test_a_listed_program_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    by_name = {"allow": ["tool"], "path": str(tmp_path)}
    by_path = {"allow": [str(tool)], "path": str(tmp_path)}
    for settings in (by_name, by_path):
        for name in ("tool", str(tool), f"{tmp_path}//./tool"):
            COMMAND.check({"argv": [name]}, None, settings)
        assert code({"argv": ["true"]}, settings) == "command_not_allowed"


def test_another_name_of_a_listed_program_is_another_program(tmp_path: Path) -> None:
    """Where one binary does many things by its name, a list that went by the binary would allow them all."""
    for name in ("listed", "unlisted"):
        tmp_path.joinpath(name).symlink_to("/bin/true")
    settings = {"allow": [str(tmp_path / "listed")]}
    COMMAND.check({"argv": [str(tmp_path / "listed")]}, None, settings)
    assert code({"argv": [str(tmp_path / "unlisted")]}, settings) == "command_not_allowed"
    assert code({"argv": ["/bin/true"]}, settings) == "command_not_allowed"


def test_a_listed_program_need_not_be_installed_where_the_task_is_made() -> None:
    COMMAND.check({"argv": ["/opt/no/such/tool"]}, None, {"allow": ["/opt/no/such/tool"]})


RESERVED = """
    PATH HOME XDG_CONFIG_HOME IFS ENV BASH_ENV BASH_FUNC_x BASHOPTS SHELLOPTS PS4 ZDOTDIR LD_PRELOAD DYLD_X GCONV_PATH
    LOCPATH NLSPATH PYTHONPATH PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH LUA_PATH JAVA_TOOL_OPTIONS
    JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH PAGER GIT_PAGER MANPAGER X_PAGER EDITOR VISUAL LESSOPEN LESSCLOSE GIT_DIR
    GIT_SSH_COMMAND RSYNC_RSH MAKEFLAGS TAR_OPTIONS PSQLRC OPENSSL_CONF HORAE_KEY
"""


@pytest.mark.parametrize("name", RESERVED.split())
def test_loader_variables_are_refused(name: str) -> None:
    assert code({"argv": ["true"], "environment": {name: "x"}}, ANYTHING) == "command_variable_reserved"


@pytest.mark.parametrize("name", ["NODE_ENV", "TZ", "LANG", "LC_ALL", "HOMEPAGE", "GITHUB_TOKEN", "EDITORS", "REGION"])
def test_similar_variable_names_are_accepted(name: str) -> None:
    spec = {"argv": ["true"], "environment": {name: "x"}}
    assert COMMAND.check(spec, None, ANYTHING)["environment"] == {name: "x"}


@pytest.mark.parametrize("variables", [["HOME", "GIT_DIR"], "HOME, GIT_DIR"])
def test_operator_may_allow_reserved_variables(variables: object) -> None:
    settings = {**ANYTHING, "variables": variables}
    said = {"HOME": "/srv", "GIT_DIR": "/srv/x"}
    assert COMMAND.check({"argv": ["true"], "environment": said}, None, settings)["environment"] == said
    assert code({"argv": ["true"], "environment": {"GIT_SSH": "x"}}, settings) == "command_variable_reserved"


def test_settings_may_come_from_an_environment() -> None:
    COMMAND.check({"argv": ["false"]}, None, {"allow": "true, false", "grace": "1.5"})


@pytest.mark.parametrize(
    "settings",
    [
        {"alow": ["true"]},
        {"allow": 1},
        {"allow": ["bin/x"]},
        {"allow": [""]},
        {"path": "relative"},
        {"path": ""},
        {"directory": "relative"},
        {"grace": -1},
        {"grace": "soon"},
        {"grace": float("nan")},
        {"grace": True},
        {"limits": 1},
        {"variables": 1},
        {"variables": ["PATH"]},
        {"variables": ["HORAE_KEY"]},
        {"variables": ["*"]},
        {"variables": [5]},
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: Mapping[str, Any]) -> None:
    assert code({"argv": ["true"]}, {"allow": "*", **settings}) == "command_setting"


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_refusal_is_used_bilingual_and_has_a_hint(name: str) -> None:
    entry = CATALOGUE[name]
    assert f'"{name}"' in ALL_TEXT, "no refusal uses this code"
    assert entry.message
    assert entry.hint
    assert re.search("[\u4e00-\u9fff]", entry.message_zh)
    assert re.search("[\u4e00-\u9fff]", entry.hint_zh)
    assert fields(entry.message + entry.hint) >= fields(entry.message_zh + entry.hint_zh)
