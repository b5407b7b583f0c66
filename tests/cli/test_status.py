"""`horae status`: node, store and problems, as text, JSON and exit code."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.cli.node_process import running_node
from tests.cli.remote.server import RemoteCli


def test_status_without_a_store_says_that_no_node_runs(cli: Cli) -> None:
    result = cli("status")
    assert result.code == 1
    assert "no node is running" in result.out
    assert "horae add" in result.err
    assert not cli.path.exists()


@pytest.mark.usefixtures("node")
def test_status_with_a_healthy_node_exits_with_0(cli: Cli) -> None:
    cli("add", "every 1h", "--name", "tick", "--say", "tick")
    result = cli("status", "--json")
    check_schema("status", result.json)
    assert (result.code, result.json["ok"], result.json["node_up"], result.json["problems"]) == (0, True, True, [])
    shown = cli("status").out
    for expected in ("a node is up", str(cli.path), "1 active", "tick"):
        assert expected in shown
    assert "节点正在运行" in cli("status", "--lang", "zh").out


def test_status_reports_a_failing_task(cli: Cli) -> None:
    with running_node(cli):
        cli("add", "every 1s", "--name", "bad", "--function", "broken", "--retries", "0")
        cli("run", "bad", "--wait")
        while not cli("runs", "bad", "--state", "failed", "--json").json:
            pass
        while (result := cli("status", "--json")).json["problems"] == []:
            pass
        quiet = cli("status", "--quiet")
    check_schema("status", result.json)
    assert result.code == 1
    assert result.json["node_up"]
    assert quiet.out.split() == [each["code"] for each in result.json["problems"]]


def test_status_of_a_killed_node_is_down(cli: Cli, node: subprocess.Popen[str]) -> None:
    cli("add", "every 1h", "--name", "tick", "--say", "tick")
    node.kill()
    node.wait()
    result = cli("status", "--json")
    assert (result.code, result.json["node_up"]) == (1, False)
    assert [each["code"] for each in result.json["problems"]] == ["no_node"]


def test_status_at_a_server_names_the_server(cli: Cli) -> None:
    served = RemoteCli(cli.directory)
    try:
        served("add", "every 1h", "--name", "tick", "--say", "tick")
        result = served("status", "--json")
    finally:
        served.stop()
    check_schema("status", result.json)
    assert result.json["store"].startswith("http://127.0.0.1:")
    assert result.code == 1


def test_status_of_an_unreachable_store_exits_with_7(cli: Cli) -> None:
    assert cli("status", "--store", "postgresql://horae@127.0.0.1:9/horae").code == 7


def test_status_is_in_the_list_of_commands(cli: Cli) -> None:
    assert "  status " in cli.process("--help").out
