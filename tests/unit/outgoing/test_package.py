"""The outgoing package: its library is loaded on first use, and refusals have both languages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from horae.errors import Refusal
from horae.model.refusals import CATALOGUE as MODEL
from horae.outgoing import client
from horae.outgoing.client import check_library
from horae.outgoing.refusals import CATALOGUE
from horae.refusal_catalogue import RefusalEntry
from horae.targets.http.refusals import CATALOGUE as TARGET

ENTRIES = [*CATALOGUE.items(), *TARGET.items()]


def test_the_library_is_not_loaded_until_something_is_sent() -> None:
    code = "import sys, horae.targets.http.target as k; k.HTTP.check({'url': 'https://a.example'}, None, {}); print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_where_the_library_is_missing_the_refusal_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check_library()
    client._is_installed.cache_clear()
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(Refusal, match=re.escape("pip install 'horae[http]'")) as refused:
        check_library()
    client._is_installed.cache_clear()
    assert refused.value.code == "http_library_missing"


@pytest.mark.parametrize(("code", "entry"), ENTRIES, ids=[code for code, _ in ENTRIES])
def test_each_refusal_says_the_same_in_both_languages(code: str, entry: RefusalEntry[Refusal]) -> None:
    assert code not in MODEL
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    for english, chinese in ((entry.message, entry.message_zh), (entry.hint, entry.hint_zh)):
        assert english.isascii() or "…" in english
        assert re.search(r"[\u4e00-\u9fff]", chinese)
        assert not re.search("[，：；]", chinese)
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese))


def test_codes_are_unique_across_packages() -> None:
    assert CATALOGUE.keys().isdisjoint(TARGET)
