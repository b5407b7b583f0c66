"""The network guard: every spelling of a special address is refused, and every ambiguous URL."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.outgoing.addresses import is_reachable, read_address, read_networks, read_numeric
from horae.outgoing.guard import MAX_URL_LENGTH, CheckedUrl, check_url, parse_url

SPECIAL_4 = """0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.255 168.63.129.16 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7
203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255""".split()
SPECIAL_6 = """:: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::10.0.0.1
64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1
2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1""".split()
PUBLIC = ("8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8")


def code_of(url: object, *allowed: str) -> str | None:
    try:
        check_url(url, read_networks(allowed))
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("text", [*SPECIAL_4, *SPECIAL_6])
def test_special_addresses_are_not_reachable_unless_their_network_is_allowed(text: str) -> None:
    address = read_address(text)
    assert address is not None
    assert not is_reachable(address, ())
    assert is_reachable(address, read_networks([text]))


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_reachable(text: str) -> None:
    address = read_address(text)
    assert address is not None
    assert is_reachable(address, ())


@pytest.mark.parametrize(
    "host",
    """127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7F.1 0177.0.0.1 017700000001 00000177.0.0.1 0x7f.0x0.0x0.0x1 127.0.0.1.
    2852039166 0xa9.254.0251.0376 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:1] [::127.0.0.1]
    [2002:7f00:1::] [64:ff9b::127.0.0.1] [2001:0:7f00:1::] [fe80::1] localhost LOCALHOST localhost. api.localhost 0 0.0.0.0
    """.split(),
)
def test_every_spelling_of_an_inner_address_is_refused(host: str) -> None:
    assert code_of(f"http://{host}/") == "address_not_public"
    assert code_of(f"https://{host}:8443/x?y") == "address_not_public"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("file:///etc/passwd", "url_scheme"),
        ("ftp://example.com/", "url_scheme"),
        ("gopher://example.com/", "url_scheme"),
        ("javascript:alert(1)", "url_scheme"),
        ("example.com/x", "url_scheme"),
        ("//example.com/", "url_scheme"),
        ("", "url_scheme"),
        ("http:example.com", "url_host"),
        ("http:/example.com", "url_host"),
        ("http://", "url_host"),
        ("http:///path", "url_host"),
        ("http://?q", "url_host"),
        ("http://user@example.com/", "url_userinfo"),
        ("http://user:hunter2@example.com/", "url_userinfo"),
        ("http://example.com@127.0.0.1/", "url_userinfo"),
        ("http://@example.com/", "url_userinfo"),
        ("http://example.com:0/", "url_port"),
        ("http://example.com:65536/", "url_port"),
        ("http://example.com:/", "url_port"),
        ("http://example.com:80:80/", "url_port"),
        ("http://example.com:-1/", "url_port"),
        ("http://example.com:８０/", "url_port"),
        ("http://127.0.0.1%00.example.com/", "url_host"),
        ("http://exa%6dple.com/", "url_host"),
        ("http://example..com/", "url_host"),
        ("http://.example.com/", "url_host"),
        ("http://-a.com/", "url_host"),
        (f"http://{'a' * 64}.com/", "url_host"),
        (f"http://{'a.' * 130}com/", "url_host"),
        ("http://１２７.０.０.１/", "url_host"),
        ("http://127。0。0。1/", "url_host"),
        ("http://münchen.example/", "url_host"),
        ("http://1.2.3.4.5/", "url_host"),
        ("http://256.1.1.1/", "url_host"),
        ("http://1.2.3.08/", "url_host"),
        ("http://99999999999/", "url_host"),
        ("http://example.0x7f/", "url_host"),
        ("http://example.com.1/", "url_host"),
        ("http://[::1/", "url_host"),
        ("http://[::1]x/", "url_host"),
        ("http://[fe80::1%25eth0]/", "url_host"),
        ("http://[fe80::1%eth0]/", "url_host"),
        ("http://[127.0.0.1]/", "url_host"),
        ("http://[v1.x]/", "url_host"),
        ("http://example.com\\@127.0.0.1/", "url_characters"),
        ("http:\\\\example.com/", "url_characters"),
        ("http://example.com/\r\nHost: x", "url_characters"),
        ("http://example.com/a b", "url_characters"),
        (" http://example.com/", "url_characters"),
        ("http://example.com/\0", "url_characters"),
        ("http://example.com/\u2028", "url_characters"),
        ("http://example.com/\ud800", "url_characters"),
        ("http://exam\tple.com/", "url_characters"),
        ("http://example.com/" + "a" * MAX_URL_LENGTH, "url_too_long"),
        (None, "url_host"),
        ({"secret": "x"}, "url_host"),
    ],
)
def test_invalid_url_is_refused(url: object, code: str) -> None:
    assert code_of(url) == code


def test_a_refusal_never_repeats_credentials() -> None:
    with pytest.raises(Refusal) as refused:
        check_url("https://user:hunter2@example.com/?token=hunter3")
    assert "hunter" not in repr((str(refused.value), refused.value.facts, refused.value.sentences))


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("HTTPS://Example.COM", "https://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:80/a#part", "https://example.com:80/a"),
        ("http://example.com?x=1", "http://example.com/?x=1"),
        ("http://example.com/路径?名=值", "http://example.com/%E8%B7%AF%E5%BE%84?%E5%90%8D=%E5%80%BC"),
        ("http://example.com/a%20b?x[]={{7*7}}", "http://example.com/a%20b?x[]=%7B%7B7*7%7D%7D"),
        ("http://example.com/a@b:c", "http://example.com/a@b:c"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://[2606:4700:0:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("http://[::ffff:8.8.8.8]/", "http://8.8.8.8/"),
        ("http://127.0.0.1.nip.example/", "http://127.0.0.1.nip.example/"),
    ],
)
def test_a_checked_url_is_in_its_plainest_form(url: str, text: str) -> None:
    assert check_url(url).text == text
    assert check_url(text).text == text


def test_an_operator_can_allow_a_network() -> None:
    assert code_of("http://127.1/", "127.0.0.0/8") is None
    assert code_of("http://[::ffff:127.0.0.1]/", "127.0.0.0/8") is None
    assert code_of("http://localhost/", "127.0.0.0/8") is None
    assert code_of("http://10.0.0.1/", "127.0.0.0/8") == "address_not_public"
    assert code_of("http://[::1]/", "127.0.0.0/8") == "address_not_public"
    assert code_of("http://[fd00::1]/", "fd00::/8") is None


@pytest.mark.parametrize("network", ["10.0.0.1/8", "ten", "", 10, None])
def test_invalid_network_is_refused(network: object) -> None:
    with pytest.raises(Refusal) as refused:
        read_networks([network])
    assert refused.value.code == "bad_network"


@st.composite
def spelled(draw: st.DrawFn) -> tuple[str, IPv4Address]:
    """A special address in one of the ways in which the system's own resolver reads it."""
    base = int(IPv4Address(draw(st.sampled_from(SPECIAL_4))))
    count = draw(st.integers(1, 4))
    numbers = [base >> 24 - 8 * place & 255 for place in range(count - 1)]
    numbers.append(base & (1 << 8 * (5 - count)) - 1)
    parts = [
        _written(number, draw(st.sampled_from("dox")), draw(st.integers(0, 8)), draw(st.booleans()))
        for number in numbers
    ]
    return ".".join(parts) + draw(st.sampled_from(["", "."])), IPv4Address(base)


def _written(number: int, form: str, zeros: int, upper: bool) -> str:  # noqa: FBT001 - it is drawn
    if form == "d":
        return str(number)
    text = "0" * (zeros + 1) + f"{number:o}" if form == "o" else "0x" + "0" * zeros + f"{number:x}"
    return text.upper() if upper else text


@given(spelled())
def test_no_spelling_of_a_special_ipv4_address_passes(drawn: tuple[str, IPv4Address]) -> None:
    host, address = drawn
    assert socket.inet_aton(host.removesuffix(".")) == address.packed  # the resolver's reading is the same address
    assert code_of(f"http://{host}/") == "address_not_public"


@given(
    st.sampled_from(SPECIAL_4),
    st.sampled_from(["::ffff:{}", "64:ff9b::{}", "::{}", "2002:{hex}::", "2002:{hex}::1"]),
    st.booleans(),
)
def test_no_ipv6_address_that_stands_for_a_special_ipv4_address_passes(text: str, form: str, full: bool) -> None:  # noqa: FBT001
    packed = IPv4Address(text).packed.hex()
    address = IPv6Address(form.format(text, hex=f"{packed[:4]}:{packed[4:]}"))
    assert code_of(f"http://[{address.exploded if full else address}]/") == "address_not_public"


@given(st.text("0123456789abcdefxX.", min_size=1, max_size=32))
@example("0x.1")
@example("1.2.3.0x")
@example("00000000000000000000000177.1")
def test_numbers_are_read_as_the_system_reads_them(host: str) -> None:
    try:
        packed = socket.inet_aton(host)
    except OSError:
        return
    assert read_numeric(host) == IPv4Address(packed)


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "http://a.example", "http://127.0.0.1"]))
def test_url_check_is_idempotent(junk: str, start: str) -> None:
    try:
        checked = parse_url(start + junk)
    except Refusal:
        return
    assert isinstance(checked, CheckedUrl)
    assert checked.text.isascii()
    assert parse_url(checked.text) == checked
