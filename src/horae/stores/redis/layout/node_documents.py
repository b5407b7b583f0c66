"""Nodes: a document with the constant fields, and a hash with the fields that each renewal changes, so that claims do not conflict
with renewals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....ports.store import Node
from ...codec.json_codecs import decode, encode
from ...codec.rows import decode_node, encode_node
from ..transactions.transaction import VERSION_LENGTH, Client
from .keys import Keys

STATE_FIELDS: Final = {"renewed": 4, "renewals": 5, "load": 7, "offset": 9, "draining": 10}
"""Fields of the hash, with their places in the row of a node."""


def encode_node_document(node: Node) -> str:
    return encode(encode_node(node))


def encode_node_state(node: Node) -> list[str | int]:
    """Return fields and values of the hash."""
    row = encode_node(node)
    return [word for field, place in STATE_FIELDS.items() for word in (field, row[place])]


def decode_node_document(text: str, state: Mapping[str, str]) -> Node:
    """Decode the text of the document, without its version, with the fields of the hash."""
    row = decode(text)
    for field, place in STATE_FIELDS.items():
        if field in state:
            row[place] = int(state[field])
    return decode_node(row)


def decode_node_reply(value: str, fields: Sequence[str]) -> Node:
    """Decode a document with its version, and the hash as a list of fields and values, as scripts return them."""
    return decode_node_document(value[VERSION_LENGTH:], dict(zip(fields[::2], fields[1::2], strict=True)))


async def read_nodes(client: Client, keys: Keys) -> tuple[Node, ...]:
    """Return all nodes by id."""
    ids = await client.call("ZRANGE", keys.nodes, 0, -1)
    if not ids:
        return ()
    documents, *states = await client.call_all(
        [("MGET", *map(keys.node, ids)), *(("HGETALL", keys.node_state(node)) for node in ids)]
    )
    found = [(value, state) for value, state in zip(documents, states, strict=True) if value is not None]
    return tuple([decode_node_document(value[VERSION_LENGTH:], _as_mapping(state)) for value, state in found])


def _as_mapping(state: Any) -> Mapping[str, str]:
    """Return the fields of a hash, which the driver returns as a list in a pipeline of raw commands."""
    return state if isinstance(state, Mapping) else dict(zip(state[::2], state[1::2], strict=True))
