"""Signs of an optimised interpreter in the variables of its build."""

from __future__ import annotations

from typing import Any, Final

import pytest

from horae.doctor.python_build import Optimisation, read_optimisation

_USUAL: Final = {
    "CONFIG_ARGS": "'--prefix=/opt' '--enable-shared'",
    "CFLAGS": "-Wsign-compare -DNDEBUG -g -fwrapv -O3 -Wall",
    "PY_CORE_CFLAGS": "-Wsign-compare -DNDEBUG -g -fwrapv -O3 -Wall -std=c11 -DPy_BUILD_CORE",
    "PGO_PROF_USE_FLAG": "-fprofile-use -fprofile-correction",
}
_DEBIAN: Final = {**_USUAL, "PY_CORE_CFLAGS": "-g -fwrapv -O2 -DPy_BUILD_CORE", "PGO_PROF_USE_FLAG": ""}
"""The optimised build of Debian: its variables show neither the option nor the flags, and no flag of the profile."""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (_USUAL, "plain"),
        ({**_USUAL, "CONFIG_ARGS": "'--enable-optimizations' '--with-lto'"}, "optimised"),
        ({**_USUAL, "PY_CORE_CFLAGS": "-O2 -fprofile-use -fprofile-correction"}, "optimised"),
        (_DEBIAN, "unknown"),
        ({**_DEBIAN, "PY_CORE_CFLAGS": "-O2 -g -O0"}, "plain"),
        ({**_DEBIAN, "PY_CORE_CFLAGS": "-O0 -g -O2"}, "unknown"),
        ({**_DEBIAN, "PY_CORE_CFLAGS": "-Og"}, "plain"),
        ({}, "unknown"),
        ({"CONFIG_ARGS": None, "CFLAGS": None}, "unknown"),
    ],
)
def test_signs_of_the_build(variables: dict[str, Any], expected: Optimisation) -> None:
    assert read_optimisation(variables, is_debug=False) == expected


def test_debug_build_is_not_optimised() -> None:
    assert read_optimisation(_DEBIAN, is_debug=True) == "plain"
