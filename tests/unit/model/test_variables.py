"""Environment variables that only an operator may set."""

from __future__ import annotations

import pytest

from horae.model.accounts.protected_variables import is_reserved, is_set_by_horae


@pytest.mark.parametrize(
    "name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "GIT_PAGER", "HOME", "XDG_CONFIG_HOME", "TAR_OPTIONS"]
)
def test_loader_and_path_variables_are_reserved(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["LANG", "TZ", "REPORT_DAY", "API_TOKEN"])
def test_ordinary_variables_are_not_reserved(name: str) -> None:
    assert not is_reserved(name)


def test_variables_that_horae_sets() -> None:
    assert [name for name in ("PATH", "HORAE_KEY", "HOME") if is_set_by_horae(name)] == ["PATH", "HORAE_KEY"]
