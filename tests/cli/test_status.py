"""`horae status`: is a node up, on which store, and what needs attention; programs read it by exit code or as JSON."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.cli.remote.server import RemoteCli
from tests.cli.test_private_networks import running_node


def test_without_a_store_it_says_that_no_node_runs(cli: Cli) -> None:
    said = cli("status")
    assert said.code == 1
    assert "no node is running" in said.out
    assert "horae add" in said.err
    assert not cli.path.exists()


@pytest.mark.usefixtures("node")
def test_with_a_node_and_nothing_wrong_it_is_fine(cli: Cli) -> None:
    cli("add", "every 1h", "--name", "tick", "--say", "tick")
    said = cli("status", "--json")
    check_schema("status", said.json)
    assert (said.code, said.json["ok"], said.json["node_up"], said.json["problems"]) == (0, True, True, [])
    shown = cli("status").out
    for expected in ("a node is up", str(cli.path), "1 active", "tick"):
        assert expected in shown
    assert "节点正在运行" in cli("status", "--lang", "zh").out


def test_a_failing_task_needs_attention(cli: Cli) -> None:
    with running_node(cli):
        cli("add", "every 1s", "--name", "bad", "--function", "broken", "--retries", "0")
        cli("run", "bad", "--wait")
        while not cli("runs", "bad", "--state", "failed", "--json").json:
            pass
        while (said := cli("status", "--json")).json["problems"] == []:
            pass
        quiet = cli("status", "--quiet")
    check_schema("status", said.json)
    assert said.code == 1
    assert said.json["node_up"]
    assert quiet.out.split() == [each["code"] for each in said.json["problems"]]


def test_a_node_that_was_killed_is_not_up(cli: Cli, node: subprocess.Popen[str]) -> None:
    cli("add", "every 1h", "--name", "tick", "--say", "tick")
    node.kill()
    node.wait()
    said = cli("status", "--json")
    assert (said.code, said.json["node_up"]) == (1, False)
    assert [each["code"] for each in said.json["problems"]] == ["no_node"]


def test_at_a_server_it_names_the_server(cli: Cli) -> None:
    served = RemoteCli(cli.directory)
    try:
        served("add", "every 1h", "--name", "tick", "--say", "tick")
        said = served("status", "--json")
    finally:
        served.stop()
    check_schema("status", said.json)
    assert said.json["store"].startswith("http://127.0.0.1:")
    assert said.code == 1


def test_a_store_that_cannot_be_reached_is_exit_code_7(cli: Cli) -> None:
    assert cli("status", "--store", "postgresql://horae@127.0.0.1:9/horae").code == 7


def test_it_is_in_the_list_of_commands(cli: Cli) -> None:
    assert "  status " in cli.process("--help").out
