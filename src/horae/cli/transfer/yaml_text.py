"""Reads untrusted YAML: JSON types only, no duplicate keys, no aliases, no implicit times or `yes`/`no` booleans."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ..messages.operating_refusals import refuse


class _JsonLoader(yaml.SafeLoader):
    """Loader with the scalars of JSON: `9:30` is text, not 570; `on` and `no` are text, not booleans."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read; use 'defaults'")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for name, _ in node.value:
            key = self.construct_object(name, deep=True)
            if not isinstance(key, str):
                raise yaml.YAMLError(f"line {name.start_mark.line + 1}: the key {key!r} is no text")
            if key in keys:
                raise yaml.YAMLError(f"line {name.start_mark.line + 1}: the key '{key}' appears twice")
            keys.add(key)
        return super().construct_mapping(node, deep)


_JsonLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-+0123456789")),
):
    _JsonLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def read_yaml(text: str) -> Any:
    try:
        return yaml.load(text, _JsonLoader)  # noqa: S506 - a safe loader, made safer
    except RecursionError:
        raise refuse("bad_yaml", problem="it is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise refuse("bad_yaml", problem=_short(error)) from None


def _short(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return problem if mark is None else f"line {mark.line + 1}: {problem}"
