"""Store address of MySQL: parsing, defaults and refusals."""

from __future__ import annotations

import ssl

import pytest

from horae.errors import UnknownStore
from horae.stores.mysql.address import Address


def test_every_part_of_the_address_is_parsed() -> None:
    url = "mysql://ada:p%40ss%2F%25@db.example:3307/app?prefix=jobs_&connections=9&ssl-mode=VERIFY_IDENTITY"
    address = Address.parse(url)
    assert address[:6] == ((("db.example", 3307),), "ada", "p@ss/%", "app", "jobs_", 9)
    assert address.display_url == "mysql://db.example:3307/app"
    context = address.driver_options()["ssl"]
    assert isinstance(context, ssl.SSLContext)
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_several_hosts_have_ports_of_their_own() -> None:
    address = Address.parse("mysql://ada:secret@db1:3307,DB2,[::1]:3308/app")
    assert address.hosts == (("db1", 3307), ("db2", 3306), ("::1", 3308))
    assert address.display_url == "mysql://db1:3307,db2:3306,[::1]:3308/app"
    assert [address.driver_options(server)["host"] for server in range(3)] == ["db1", "db2", "::1"]


def test_missing_parts_have_defaults() -> None:
    address = Address.parse("mariadb://localhost/app")
    assert address == Address((("localhost", 3306),), "root", "", "app", "horae_", 6)
    assert address.driver_options()["ssl"] is None


@pytest.mark.parametrize(
    ("mode", "named", "verified"),
    [("required", False, ssl.CERT_NONE), ("verify-ca", False, ssl.CERT_REQUIRED)],
)
def test_tls_modes_are_parsed(mode: str, named: bool, verified: ssl.VerifyMode) -> None:  # noqa: FBT001
    context = Address.parse(f"mysql://h/d?ssl-mode={mode}").tls.make_context()
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (named, verified)


def test_password_outside_latin_1_is_unchanged() -> None:
    assert Address.parse("mysql://ada:%E5%AF%86@h/d").driver_options()["password"] == "密".encode()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h:port/d",
        "mysql://h:99999/d",
        "mysql://h",
        "mysql://h/",
        "mysql://h/a/b",
        "mysql://a,,b/d",
        "mysql://a,a/d",
        "mysql://a:3306,b:0/d",
        "mysql://a,b/d?socket=/run/mysqld.sock",
        "mysql://h/d?prefix=Horae_",
        "mysql://h/d?prefix=",
        "mysql://h/d?prefix=a`b",
        f"mysql://h/d?prefix={'x' * 40}",
        "mysql://h/d?connections=1",
        "mysql://h/d?connections=many",
        "mysql://h/d?conections=5",
        "mysql://h/d?ssl-mode=maybe",
        "mysql://h/d?ssl-ca=/a/file",
        "postgresql://h/d",
    ],
)
def test_bad_address_is_refused_without_the_password(url: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        Address.parse(url.replace("//h", "//ada:hunter2@h"))
    assert refusal.value.code == "bad_store_address"
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("sign", ["/", "?", "#", "[", "@"])
@pytest.mark.parametrize("half", ["hunter", "12"])
def test_unquoted_password_is_not_parsed_as_host_or_port(half: str, sign: str) -> None:
    with pytest.raises(UnknownStore) as refusal:
        Address.parse(f"mysql://ada:{half}{sign}2@h/d")
    assert half not in str(refusal.value)


def test_missing_password_is_read_from_mysql_pwd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "hush")
    addresses = ("mysql://user@host/app", "mysql://user:other@host/app", "mysql://user:@host/app")
    assert [Address.parse(each).password for each in addresses] == ["hush", "other", ""]
