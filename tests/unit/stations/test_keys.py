"""Key files: made once with mode 600, refused when others can read them; the secret half is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.errors import Refusal
from horae.stations.keys import KeyPair, load_or_make_keys


def test_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "server.key"
    made = load_or_make_keys(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_or_make_keys(path).secret == made.secret
    assert made.secret not in repr(made)
    assert [each.name for each in path.parent.iterdir()] == ["server.key"]


@pytest.mark.parametrize("text", ["", "# comment\nshort\n", "a" * 40, "\n".join(["a" * 40] * 3)])
def test_damaged_key_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(Refusal) as refused:
        load_or_make_keys(path)
    assert refused.value.code == "station_key_file"


def test_key_file_that_others_can_read_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    secret = load_or_make_keys(path).secret
    path.chmod(0o644)
    with pytest.raises(Refusal) as refused:
        load_or_make_keys(path)
    assert secret not in str(refused.value)
    (tmp_path / "folder.key").mkdir()
    with pytest.raises(Refusal):
        load_or_make_keys(tmp_path / "folder.key")
    assert KeyPair("p", "s").public == "p"
