"""Parameter types and shared option decorators of the command line, and the lazy group that loads commands."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import click
import pytest

from horae.cli.command_table import COMMANDS
from horae.cli.main import app
from horae.cli.parameters import INTEGER, IntegerRange, NumberRange, option_group, type_name
from tests.cli.command_line import Cli


@pytest.mark.parametrize(("text", "number"), [("7", 7), (" 7 ", 7), ("-3", -3), ("10.0", 10)])
def test_integer_is_parsed(text: str, number: int) -> None:
    assert INTEGER.convert(text, None, None) == number


@pytest.mark.parametrize("text", ["", "x", "1.5", "nan", "1e3"])
def test_other_text_is_no_integer(text: str) -> None:
    with pytest.raises(click.BadParameter, match="Input should be a valid integer"):
        INTEGER.convert(text, None, None)


@pytest.mark.parametrize(
    ("bounds", "text", "message"),
    [
        (IntegerRange(1, 10), "0", "greater than or equal to 1"),
        (IntegerRange(1, 10), "11", "less than or equal to 10"),
        (IntegerRange(0), "-1", "greater than or equal to 0"),
        (NumberRange(0.1, 10.0), "0.05", "greater than or equal to 0.1"),
        (NumberRange(0.1, 10.0), "inf", "less than or equal to 10"),
        (NumberRange(0.1), "nan", "greater than or equal to 0.1"),
        (NumberRange(0.1), "soon", "valid number"),
    ],
)
def test_number_out_of_bounds_is_refused(bounds: IntegerRange | NumberRange, text: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message):
        bounds.convert(text, None, None)


def test_bounds_are_inclusive() -> None:
    assert [IntegerRange(1, 10).convert(text, None, None) for text in ("1", "10")] == [1, 10]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (click.Option(["--a"]), "<str>"),
        (click.Option(["--a"], multiple=True), "<list[str]>"),
        (click.Option(["--a"], type=INTEGER), "<int>"),
        (click.Option(["--a"], type=IntegerRange(1, 2)), "<int range>"),
        (click.Option(["--a"], type=NumberRange(1)), "<float range>"),
        (click.Option(["--a"], type=click.Choice(("x", "y"))), "<x|y>"),
    ],
)
def test_placeholder_of_a_value_names_its_type(option: click.Option, name: str) -> None:
    assert type_name(option) == name


def test_option_group_passes_its_values_as_one_dictionary() -> None:
    seen: list[dict[str, Any]] = []
    group = option_group("filters", click.option("--owner"), click.option("--label", multiple=True))

    @click.command()
    @click.option("--before")
    @group
    @click.option("--after")
    def command(**given: Any) -> None:
        seen.append(given)

    assert [each.name for each in command.params] == ["before", "owner", "label", "after"]
    command(["--owner", "o", "--label", "a", "--label", "b", "--after", "x"], standalone_mode=False)
    assert seen == [{"before": None, "filters": {"owner": "o", "label": ("a", "b")}, "after": "x"}]


def test_program_after_two_dashes_is_no_option_of_the_command(cli: Cli) -> None:
    made = cli("add", "every 1h", "--json", "--command", "--", "/bin/date", "--plain", HORAE_COMMAND_ALLOW="/bin/date")
    assert made.json["task"]["target"]["argv"] == ["/bin/date", "--plain"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_under_its_name(name: str) -> None:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    assert found.name == name


def test_only_the_called_command_is_imported() -> None:
    script = (
        "import sys; sys.argv = ['horae', 'version']\n"
        "from horae.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print(*(each for each in sys.modules if each.startswith('horae.cli.commands.')))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(shown.splitlines()[-1].split()) == {"horae.cli.commands.meta", "horae.cli.commands.meta.help"}
