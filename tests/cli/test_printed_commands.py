"""Printed commands name the store, server and owner of the command that printed them."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import horae.cli
from horae.cli.command_table import ALIASES, COMMANDS
from horae.cli.main import app
from horae.cli.output.command_hints import complete_commands
from horae.cli.output.printer import Printer
from horae.message import Message
from tests.cli.command_line import Cli

ROOM = Path(horae.cli.__file__).parent
NAMES = {*COMMANDS, *ALIASES}
WITHOUT_STORE = {"completion", "context", "explain", "help", "login", "logout", "move", "version"}
PRINTED = re.compile(r"(?<![\w/.-])horae((?: --\w+ \S+)*) ([a-z-]+)")


def printed_commands(text: str) -> list[tuple[str, str]]:
    """Return the options and the name of every command in a text."""
    return [(options, name) for options, name in PRINTED.findall(text) if name in NAMES and name not in WITHOUT_STORE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(tmp_path_factory.mktemp("commands"))


@pytest.fixture(scope="module")
def other(folder: Cli) -> str:
    """A store with tasks in several states, which commands do not find by default."""
    cli = folder
    store = f"sqlite:///{cli.directory}/other.db"
    for name, more in (("tea", ()), ("lane", ("--lane", "narrow")), ("held", ("--pause",)), ("late", ())):
        assert cli("add", "every 1h", "--say", "x", "--name", name, *more, "--store", store).code == 0
    assert cli("skip", "tea", "2", "--store", store).code == 0
    assert cli("run", "late", "--store", store).code == 0
    return store


COMMANDS_THAT_PRINT_COMMANDS = [
    ("add", "every 1h", "--say", "x"),
    ("add", "every 1h", "--say", "x", "--pause"),
    ("add", "every 1h", "--say", "x", "--name", "held"),
    ("ls", "-n", "1"),
    ("ls", "--query", "state:failed"),
    ("why", "late"),
    ("why", "late", "--json"),
    ("status",),
    ("status", "--json"),
    ("overview",),
    ("doctor",),
    ("doctor", "--json"),
    ("nodes",),
    ("nodes", "drain", "nod_unknown"),
    ("run", "tea"),
    ("logs", "tea"),
    ("retry", "tea"),
    ("secret", "ls"),
    ("secret", "rm", "absent", "--yes"),
    ("webhook", "ls"),
    ("token", "revoke", "absent"),
    ("token", "make", "laptop", "--owner", "absent"),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", COMMANDS_THAT_PRINT_COMMANDS, ids=" ".join)
def test_printed_command_names_the_typed_store(
    folder: Cli, other: str, arguments: tuple[str, ...], language: str
) -> None:
    done = folder(*arguments, "--store", other, "--lang", language)
    found = printed_commands(done.out + done.err)
    assert found, done
    for options, name in found:
        assert options == f" --store {other}", (name, done.out, done.err)


def test_undo_and_see_of_a_receipt_act_on_the_typed_store(folder: Cli, other: str) -> None:
    done = folder("add", "every 1h", "--say", "x", "--name", "soup", "--store", other)
    see, undo = (_labelled(done.out, label) for label in ("See", "Undo"))
    assert folder(*see, "--json").json["task"]["name"] == "soup"
    assert folder(*undo).code == 0
    assert folder(*see).code == 3


def test_fixes_of_why_are_accepted_as_printed(cli: Cli) -> None:
    other = f"sqlite:///{cli.directory}/other.db"
    assert cli("add", "every 1h", "--say", "x", "--name", "two words", "--pause", "--store", other).code == 0
    fixes = [fix["command"] for fix in cli("why", "two words", "--store", other, "--json").json["fixes"]]
    assert [shlex.split(fix)[3] for fix in fixes] == ["resume", "run"]
    for fix in fixes:
        assert cli(*shlex.split(fix)[1:]).code == 0, fix


def test_typed_store_is_left_out_where_the_next_command_finds_it(cli: Cli) -> None:
    done = cli("add", "every 1h", "--say", "x", "--store", cli.url)
    assert [options for options, _ in printed_commands(done.out + done.err)] == ["", "", "", ""]


def test_typed_store_is_kept_where_the_environment_names_a_server(cli: Cli) -> None:
    done = cli("add", "every 1h", "--say", "x", "--store", cli.url, HORAE_SERVER="http://127.0.0.1:1")
    assert {options for options, _ in printed_commands(done.out)} == {f" --store {cli.url}"}


def test_typed_store_is_kept_where_the_settings_cannot_be_read(cli: Cli) -> None:
    (cli.directory / "horae.toml").write_text("zone = [", encoding="utf-8")
    refused = cli("ls", "--store", cli.url)
    assert refused.code == 6, refused
    assert f"horae --store {cli.url} config" in refused.err
    unknown = cli("show", "absent", "--store", cli.url, HORAE_SERVER="no-such-context")
    assert "Traceback" not in unknown.err


def test_empty_store_option_is_refused(cli: Cli) -> None:
    """`--store "$HORAE_STORE"` with the variable unset opens no other store."""
    for arguments in (("ls", "--store", ""), ("--store", "", "ls")):
        assert cli(*arguments, "--json").problem["code"] == "unknown_store", arguments


def test_hint_keeps_the_typed_owner_within_a_family_of_commands(folder: Cli, other: str) -> None:
    assert folder("owner", "add", "bob", "--store", other).code == 0
    refused = folder("secret", "rm", "absent", "--yes", "--owner", "bob", "--store", other)
    assert f"horae --store {other} secret ls --owner bob" in refused.err
    listed = folder("secret", "ls", "--owner", "bob", "--store", other)
    assert f"horae --store {other} secret set NAME --owner bob" in listed.err


def test_printed_command_names_the_typed_server_except_where_it_needs_the_store() -> None:
    out = Printer(server="work")
    answer = complete_commands(out, "horae ls, then horae up; 'horae token ls', horae-worker@1, see horae 1.0")
    assert (
        answer == "horae --server work ls, then horae up; 'horae --server work token ls', horae-worker@1, see horae 1.0"
    )


def test_message_placeholders_are_filled_with_a_store_that_has_braces() -> None:
    out = Printer(store="sqlite:////tmp/{a}.db")
    answer = out.translate(Message("horae ls {name} {{x}}", "horae ls {name}"), name="{b} horae ls")
    assert answer == "horae --store 'sqlite:////tmp/{a}.db' ls {b} horae ls {x}"


# --- ambiguous names -----------------------------------------------------------------------------------------------------


def test_receipt_names_an_ambiguous_task_by_its_id(cli: Cli) -> None:
    first = cli("add", "every 1h", "--say", "x", "--name", "tea")
    assert _labelled(first.out, "See") == ["show", "tea"]
    second = cli("add", "every 1h", "--say", "x", "--name", "tea")
    see, undo = _labelled(second.out, "See"), _labelled(second.out, "Undo")
    assert see == ["show", undo[1]]
    assert cli(*see, "--json").json["task"]["id"] == undo[1]


def test_fixes_name_an_ambiguous_task_by_its_id(cli: Cli) -> None:
    ids = [
        cli("add", "every 1h", "--say", "x", "--name", "tea", "--pause", "--json").json["task"]["id"] for _ in range(2)
    ]
    for task_id in ids:
        fixes = [fix["command"] for fix in cli("why", task_id, "--json").json["fixes"]]
        assert f"horae resume {task_id}" in fixes


def test_receipt_names_a_task_by_its_name_where_only_finished_ones_share_it(cli: Cli) -> None:
    for _ in range(2):
        done = cli("add", "every 1h", "--say", "x", "--name", "tea")
        assert _labelled(done.out, "See") == ["show", "tea"]
        assert cli("cancel", "tea").code == 0


def test_receipt_names_a_task_whose_name_is_the_key_of_another_by_its_id(cli: Cli) -> None:
    assert cli("add", "every 1h", "--say", "x", "--name", "pot", "--key", "tea").code == 0
    see = _labelled(cli("add", "every 1h", "--say", "x", "--name", "tea").out, "See")
    assert see[1].startswith("tsk_")


# --- all commands are in messages ---------------------------------------------------------------------------------------


def test_commands_are_written_in_sentences_and_fixes_only() -> None:
    """A command in another text would be printed without its store. `fixes.py` completes its commands; the others are
    help texts, scripts and documents.
    """
    texts = {
        "help_topics.py",
        "completion_scripts.py",
        "help_chinese.py",
        "fixes.py",
        "command_table.py",
        "help.py",
        "systemd.py",
    }
    found = {
        (path.name, text)
        for path in ROOM.rglob("*.py")
        if path.name not in texts
        for text in _loose_texts(ast.parse(path.read_text(encoding="utf-8")))
    }
    # Commands that a server does not offer, quoted by a refusal.
    assert found <= {
        ("secret.py", "horae secret rotate"),
        ("mcp.py", "horae mcp"),
        ("store_location.py", "horae db"),
    } | {
        ("servers.py", "horae login "),  # a fact of a refusal, whose hint is completed
        ("schedule_question.py", "horae explain "),  # a hint, which is completed
    }


def test_every_command_in_a_sentence_exists() -> None:
    context = app.make_context("horae", ["ls"], resilient_parsing=True)
    texts = [text for path in ROOM.rglob("*.py") for text in _sentences(ast.parse(path.read_text(encoding="utf-8")))]
    found = [(text, *each) for text in texts for each in re.findall(r"(?<![\w/.-])horae ([a-z]+)(?: ([a-z]+))?", text)]
    assert len(found) > 50
    for text, name, sub in found:
        command = app.get_command(context, name)
        assert command is not None, text
        subcommands = getattr(command, "commands", {})
        assert not subcommands or not sub or sub in subcommands, text


def _sentences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node.func) in ("Message", "RefusalEntry"):
            yield from (text for _, text in _texts(node))


def _loose_texts(tree: ast.AST) -> Iterator[str]:
    """Return texts with a command that are no docstrings, messages or option help."""
    known: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            known.add(id(node.value))
        elif isinstance(node, ast.Call) and _name_of(node.func) in (
            "Message",
            "RefusalEntry",
            "option",
            "argument",
            "Option",
        ):
            known |= {number for number, _ in _texts(node)}
    command = re.compile(rf"\bhorae ({'|'.join(NAMES)})\b")
    yield from (text for number, text in _texts(tree) if number not in known and command.search(text))


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield id(node), node.value


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _labelled(text: str, label: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.strip().startswith(label + " ")]
    words = shlex.split(line)
    assert words[:2] == [label, "horae"]
    return words[2:]
