"""Labels of nodes, and the `where` of tasks: sets of name = value pairs in one spelling, with the check of both."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from ..refusals import refuse

LabelPairs: TypeAlias = tuple[tuple[str, str], ...]
"""Pairs of name and value, by name; a name occurs once."""

MAX_WHERE: Final = 8
"""Pairs that a task may require."""
MAX_NODE_LABELS: Final = 32
WHERE_CHARACTERS: Final = 160
"""Characters of all pairs of a task together: they are part of the name of a queue."""
NODE_LABEL: Final = "node"
"""Name of the label that every node has: its value is the name of the node."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,62}")
_VALUE: Final = re.compile(r"[A-Za-z0-9_.:/@+-]{1,63}")
_NOT_IN_A_VALUE: Final = re.compile(r"[^A-Za-z0-9_.:/@+-]")
_VALUE_CHARACTERS: Final = 63


def check_where(pairs: object) -> None:
    """Refuse pairs that are not in canonical form, too many, or too long together."""
    if not isinstance(pairs, tuple) or len(pairs) > MAX_WHERE or not _are_pairs(pairs) or not _is_canonical(pairs):
        raise refuse("bad_where", value=_shorten(pairs), most=MAX_WHERE)
    if len(format_labels(pairs)) > WHERE_CHARACTERS:
        raise refuse("where_too_long", size=len(format_labels(pairs)), most=WHERE_CHARACTERS)


def read_where(value: object) -> LabelPairs:
    """Return the pairs of a mapping in canonical form; anything else is refused."""
    if not isinstance(value, Mapping):
        raise refuse("bad_where", value=_shorten(value), most=MAX_WHERE)
    pairs = tuple(value.items())
    if not _are_pairs(pairs):
        raise refuse("bad_where", value=_shorten(dict(value)), most=MAX_WHERE)
    where = tuple(sorted(pairs))
    check_where(where)
    return where


def parse_where(texts: Iterable[str]) -> dict[str, str]:
    """Return the pairs of texts such as `gpu=a100`; a text of another form, or a name that occurs twice, is refused."""
    return _parse(texts, "bad_where", MAX_WHERE)


def parse_node_labels(texts: Iterable[str]) -> LabelPairs:
    """Return the labels of a node from texts such as `gpu=a100`; bad ones, and `node`, which every node has, are refused."""
    pairs = _parse(texts, "bad_node_label", MAX_NODE_LABELS)
    if NODE_LABEL in pairs:
        raise refuse("reserved_node_label", value=pairs[NODE_LABEL])
    return tuple(sorted(pairs.items()))


def check_node_name(name: str) -> str:
    if not _VALUE.fullmatch(name):
        raise refuse("bad_node_name", value=_shorten(name))
    return name


def default_node_name(host: str) -> str:
    """Return the name of a node from the name of its machine: characters that no label has are replaced."""
    return _NOT_IN_A_VALUE.sub("-", host)[:_VALUE_CHARACTERS] or "unnamed"


def with_node_name(labels: LabelPairs, name: str) -> LabelPairs:
    """Return the labels of a node with the one that every node has."""
    return tuple(sorted({**dict(labels), NODE_LABEL: name}.items()))


def format_labels(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{name}={value}" for name, value in pairs)


def label_options(where: Iterable[tuple[str, str]]) -> str:
    """Return the options of `horae up` for a node that has these labels."""
    return " ".join(
        f"--node-name {value}" if name == NODE_LABEL else f"--label {name}={value}" for name, value in where
    )


def has_labels(where: Collection[tuple[str, str]], labels: Collection[tuple[str, str]]) -> bool:
    """Return whether a node with these labels has all that a task requires."""
    return all(pair in labels for pair in where)


def _parse(texts: Iterable[str], code: str, most: int) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name in pairs or not _are_pairs([(name, value)]) or len(pairs) == most:
            raise refuse(code, value=_shorten(text), most=most)
        pairs[name] = value
    return pairs


def _are_pairs(pairs: Iterable[object]) -> bool:
    return all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and all(isinstance(text, str) for text in pair)
        and _NAME.fullmatch(pair[0]) is not None
        and _VALUE.fullmatch(pair[1]) is not None
        for pair in pairs
    )


def _is_canonical(pairs: LabelPairs) -> bool:
    names = [name for name, _ in pairs]
    return names == sorted(set(names))


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:79] + "…"
