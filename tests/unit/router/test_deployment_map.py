"""The map of deployments and owners in `horae.toml`, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.errors import HoraeError, Refusal
from horae.router.deployment_map import DeploymentMap, read_deployment_map
from horae.settings import read_settings

NORTH = '[deployments.north]\nurl = "https://north.example.org"\n'
SOUTH = '[deployments.south]\nurl = "unix:/run/horae/south.sock"\nstore = "sqlite:///south.db"\n'
OWNERS = '[owners]\n"user:a.b@example.org" = "south"\n"*" = "north"\n'


def read(folder: Path, text: str, *, plain_http: bool = False) -> DeploymentMap:
    file = folder / "horae.toml"
    file.write_text(text, encoding="utf-8")
    return read_deployment_map(read_settings({}, (file,)), plain_http=plain_http)


def test_owners_have_their_deployment_or_the_default(tmp_path: Path) -> None:
    found = read(tmp_path, NORTH + SOUTH + OWNERS)
    assert found.deployment_of("user:a.b@example.org").name == "south"
    assert found.deployment_of("user:a.b@example.or").name == "north"
    assert found.find("south").store == "sqlite:///south.db"
    assert found.at_place("https://north.example.org") == found.at_place("north") == found.find("north")
    assert found.at_place("elsewhere") is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "deployments_missing"),
        (OWNERS, "deployments_missing"),
        (NORTH, "no_default_deployment"),
        (NORTH + '[owners]\n"user:ada" = "north"\n', "no_default_deployment"),
        (NORTH + '[owners]\n"*" = "east"\n', "owner_mapped_nowhere"),
        (NORTH + '[owners]\n"*" = 7\n', "owner_mapped_nowhere"),
        (NORTH + '[owners]\n"user:*" = "north"\n"*" = "north"\n', "bad_mapped_owner"),
        ('[deployments.North]\nurl = "https://x.org"\n' + OWNERS, "bad_deployment_name"),
        ('[deployments.north]\nstore = "sqlite:///x.db"\n' + OWNERS, "deployment_without_url"),
        ('[deployments.north]\nurl = "https://x.org"\nweight = "1"\n' + OWNERS, "unknown_deployment_field"),
        ("[deployments.north]\nurl = 7\n" + OWNERS, "bad_deployment_field"),
        ('[deployments.north]\nurl = "ftp://x.org"\n' + OWNERS, "bad_server_address"),
        ('[deployments.north]\nurl = "https://ada@x.org"\n' + OWNERS, "bad_server_address"),
        ('[deployments.north]\nurl = "http://x.org"\n' + OWNERS, "plain_http"),
        (NORTH + '[deployments.west]\nurl = "https://north.example.org/"\n' + OWNERS, "same_deployment_url"),
    ],
)
def test_map_that_cannot_be_used_is_refused(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(HoraeError) as refused:
        read(tmp_path, text)
    assert isinstance(refused.value, Refusal)
    assert refused.value.code == code
    assert refused.value.hint


def test_plain_http_is_a_choice(tmp_path: Path) -> None:
    text = '[deployments.north]\nurl = "http://x.org"\n[owners]\n"*" = "north"\n'
    assert read(tmp_path, text, plain_http=True).default == "north"
