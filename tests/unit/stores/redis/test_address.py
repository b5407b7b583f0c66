"""Store address of Redis: parsing, defaults and refusals."""

from __future__ import annotations

import pytest

from horae.errors import UnknownStore
from horae.stores.addresses.masked_url import has_secret, mask_url, without_password
from horae.stores.redis.connections.address import Address, Place, TLSOptions


def test_every_part_of_the_address_is_parsed() -> None:
    address = Address.parse("rediss://ada:p%40ss%2F%25@db.example:6380/3?prefix=jobs&connections=9&ssl-mode=VERIFY_CA")
    assert address == Address(
        "server",
        (Place("db.example", 6380),),
        "ada",
        "p@ss/%",
        3,
        prefix="jobs",
        connections=9,
        tls=TLSOptions("verify-ca"),
    )
    assert address.display_url == "rediss://db.example:6380/3"
    options = address.login_options
    assert (options["ssl"], options["ssl_cert_reqs"], options["ssl_check_hostname"]) == (True, "required", False)


def test_missing_parts_have_defaults() -> None:
    address = Address.parse("redis://localhost")
    assert address == Address("server", (Place("localhost", 6379),))
    assert address.login_options == {"username": None, "password": None}
    assert Address.parse("redis://") == address


def test_sentinel_address_names_hosts_service_and_database() -> None:
    url = "redis+sentinel://:word@one:1,two,[::1]:3/primary/2?sentinel-password=other"
    address = Address.parse(url)
    assert (address.layout, address.service, address.database) == ("sentinel", "primary", 2)
    assert address.places == (Place("one", 1), Place("two", 26379), Place("::1", 3))
    assert (address.user, address.password, address.sentinel_password) == (None, "word", "other")
    assert address.display_url == "redis+sentinel://one:1,two:26379,[::1]:3/primary/2"
    assert mask_url(url) == "redis+sentinel://***@one:1,two,[::1]:3/primary/2?sentinel-password=***"


def test_sentinel_password_is_a_secret() -> None:
    url = "redis+sentinel://one/primary?sentinel-password=hunter2&prefix=jobs"
    assert has_secret(url)
    assert without_password(url) == "redis+sentinel://one/primary?prefix=jobs"


def test_cluster_address_names_hosts() -> None:
    address = Address.parse("rediss+cluster://one:1,two:2?ssl-mode=required")
    assert (address.layout, address.places) == ("cluster", (Place("one", 1), Place("two", 2)))
    assert address.display_url == "rediss+cluster://one:1,two:2/0"
    assert address.login_options["ssl_cert_reqs"] == "none"


@pytest.mark.parametrize(
    "url",
    [
        "redis://h:port/0",
        "redis://h:99999/0",
        "redis://h:0/0",
        "redis://h/name",
        "redis://h/1/2",
        "redis://h/-1",
        "redis://h/1000000",
        "redis://h/0?prefix=",
        "redis://h/0?prefix={a}",
        f"redis://h/0?prefix={'x' * 40}",
        "redis://h/0?connections=1",
        "redis://h/0?connections=many",
        "redis://h/0?conections=5",
        "redis://h/0?ssl-ca=/a/file",
        "redis://h/0?sentinel-password=x",
        "rediss://h/0?ssl-mode=maybe",
        "redis+sentinel://h",
        "redis+sentinel://h,/primary",
        "redis+sentinel://h/primary/name",
        "redis+cluster://h/1",
        "redis+cluster://h?wait_replicas=1",
        "redis://h/0?wait_replicas=some",
        "redis://h/0?wait_replicas=-1",
        "redis://h/0?wait_replicas=10",
        "mysql://h/d",
    ],
)
def test_bad_address_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        Address.parse(url.replace("//h", "//ada:hunter2@h"))
    assert refusal.value.code == "bad_store_address"
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("url", ["redis://h/0?wait_replicas=2", "redis+sentinel://h/primary?wait_replicas=2"])
def test_replicas_that_must_have_a_commit_are_in_the_address(url: str) -> None:
    assert Address.parse(url).wait_replicas == 2


@pytest.mark.parametrize("sign", ["/", "?", "#", "[", "@"])
@pytest.mark.parametrize("half", ["hunter", "12"])
def test_unquoted_password_is_not_parsed_as_host_or_port(half: str, sign: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        Address.parse(f"redis://ada:{half}{sign}2@h/0")
    assert half not in str(refusal.value)


def test_missing_password_is_read_from_rediscli_auth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", "hush")
    addresses = ("redis://user@host/0", "redis://user:other@host/0", "redis://user:@host/0", "redis://host/0")
    assert [Address.parse(each).password for each in addresses] == ["hush", "other", "", "hush"]
