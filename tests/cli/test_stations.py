"""`horae station`: keys, stations and refusals on the command line."""

from __future__ import annotations

from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema


def test_keys_are_allowed_listed_and_removed(cli: Cli) -> None:
    folder = str(cli.directory / "keys")
    key = cli("station", "key", "--station", "orders", "-q", HORAE_STATION_KEYS=folder).out.strip()
    shown = cli("station", "key", "--station", "orders", "--json", HORAE_STATION_KEYS=folder).json
    check_schema("station-key", shown)
    assert shown == {"key": key, "station": "orders"}
    assert cli("station", "ls").err.startswith("No stations yet: ")
    allowed = cli("station", "allow", "orders", "--key", key)
    assert (allowed.code, allowed.out) == (0, f"✓ {key} may join as the station orders.\n")
    listed = cli("station", "ls", "--json").json
    check_schema("stations", listed)
    assert [(each["name"], each["kind"], each["nodes"]) for each in listed] == [("orders", "api", [])]
    assert "orders  api   1" in cli("station", "ls").out
    refused = cli("station", "allow", "other", "--key", key, "--json")
    assert (refused.code, refused.problem["code"]) == (5, "station_key_taken")
    removed = cli("station", "rm", "orders", "--json").json
    check_schema("forgotten", removed)
    assert removed == {"removed": "orders"}
    assert cli("station", "rm", "orders", "--json").problem["code"] == "no_such_station"


def test_key_of_the_node_is_beside_its_store_and_stable(cli: Cli) -> None:
    key = cli("station", "key", "-q").out
    assert cli("station", "key", "-q").out == key
    assert (cli.directory / "stations" / "server.key").stat().st_mode & 0o777 == 0o600


def test_module_without_a_station_is_refused(cli: Cli) -> None:
    (cli.directory / "empty_module.py").write_text("x = 1\n")
    refused = cli("station", "run", "empty_module.py", "--json")
    assert refused.problem["code"] == "no_station_in_module"


def test_node_without_a_directory_for_its_key_is_refused_at_the_start(cli: Cli) -> None:
    for command in ("up", "worker"):
        refused = cli(command, "--stations", "--json", "--seconds", "1", HORAE_STORE="memory://")
        assert refused.problem["code"] == "station_directory_missing"
        assert "HORAE_STATION_DIRECTORY=" in refused.problem["hint"]


def test_directory_of_the_node_comes_from_the_environment(cli: Cli) -> None:
    folder = cli.directory / "elsewhere"
    key = cli("station", "key", "-q", HORAE_STATION_DIRECTORY=str(folder)).out.strip()
    assert key in (folder / "server.key").read_text()
