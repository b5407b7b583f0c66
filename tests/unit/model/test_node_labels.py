"""Labels of nodes and `where` of tasks: canonical form, checks and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.lanes.node_labels import (
    check_node_name,
    default_node_name,
    has_labels,
    label_options,
    parse_node_labels,
    parse_where,
    read_where,
    with_node_name,
)
from horae.model.policy import Policies, from_json, to_json


def test_labels_are_sorted_by_name() -> None:
    assert parse_node_labels(["zone=eu", "gpu=a100"]) == (("gpu", "a100"), ("zone", "eu"))
    assert read_where({"zone": "eu", "gpu": "a100"}) == (("gpu", "a100"), ("zone", "eu"))
    assert with_node_name((("gpu", "a100"), ("zone", "eu")), "desk") == (
        ("gpu", "a100"),
        ("node", "desk"),
        ("zone", "eu"),
    )


@pytest.mark.parametrize("text", ["gpu", "=x", "gpu=", "a b=x", "gpu=a,b", "gpu=a;b", "g" * 64 + "=x", "gpu=é"])
def test_bad_labels_are_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_node_labels([text])
    assert refused.value.code == "bad_node_label"
    with pytest.raises(Refusal) as refused:
        parse_where([text])
    assert refused.value.code == "bad_where"


def test_a_name_occurs_once_and_node_is_reserved() -> None:
    with pytest.raises(Refusal):
        parse_node_labels(["gpu=a", "gpu=b"])
    with pytest.raises(Refusal) as refused:
        parse_node_labels(["node=desk"])
    assert refused.value.code == "reserved_node_label"


@pytest.mark.parametrize("value", ["gpu=a100", ["gpu"], {"gpu": None}, {1: "x"}, {"gpu": "x" * 100}])
def test_a_where_that_is_no_set_of_labels_is_refused(value: Any) -> None:
    with pytest.raises(Refusal) as refused:
        read_where(value)
    assert refused.value.code == "bad_where"


def test_a_where_has_a_bounded_number_and_length() -> None:
    with pytest.raises(Refusal) as refused:
        read_where({f"l{n}": "x" for n in range(9)})
    assert refused.value.code == "bad_where"
    with pytest.raises(Refusal) as refused:
        read_where({f"l{n}": "x" * 30 for n in range(8)})
    assert refused.value.code == "where_too_long"


@pytest.mark.parametrize("pairs", [[("a", "b")], (("b", "x"), ("a", "x")), (("a", "x"), ("a", "x")), ("ab",)])
def test_policies_accept_the_canonical_form_only(pairs: Any) -> None:
    with pytest.raises(Refusal):
        Policies(where=pairs)


def test_policies_without_labels_are_stored_as_before() -> None:
    assert "where" not in to_json(Policies())
    labelled = Policies(where=(("gpu", "a100"),))
    assert from_json(to_json(labelled)) == labelled


def test_names_of_nodes() -> None:
    assert check_node_name("desk-1.local") == "desk-1.local"
    assert default_node_name("Ada's desk") == "Ada-s-desk"
    assert default_node_name("") == "unnamed"
    with pytest.raises(Refusal):
        check_node_name("two words")


def test_all_labels_are_required() -> None:
    assert has_labels((), ())
    assert has_labels((("gpu", "a"),), {("gpu", "a"), ("zone", "eu")})
    assert not has_labels((("gpu", "a"), ("zone", "us")), {("gpu", "a"), ("zone", "eu")})
    assert label_options((("gpu", "a"), ("node", "desk"))) == "--label gpu=a --node-name desk"
