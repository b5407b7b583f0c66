"""Catalogue of refusals of a move between stores: code, sentence and hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "move_same_store": RefusalEntry(
            InvalidTask,
            "{store} cannot be moved to itself.",
            "Name two different stores: horae move FROM_URL TO_URL.",
            "{store} 不能迁移到它自己。",
            "请给出两个不同的存储:horae move 来源 目标。",
        ),
        "move_node_is_live": RefusalEntry(
            Conflict,
            "A node is at work on {store}: {nodes}.",
            "Stop it first (Ctrl-C, or SIGTERM), then move; what was copied so far is kept.",
            "有节点正在使用 {store}:{nodes}。",
            "请先停止它(Ctrl-C 或 SIGTERM)再迁移;已复制的部分会保留。",
        ),
        "move_target_not_empty": RefusalEntry(
            Conflict,
            "{store} is not empty: it holds {count} {part}.",
            "Name a new store; nothing was changed.",
            "{store} 不是空的:其中有 {count} 个 {part}。",
            "请指定一个新的存储;没有做任何改动。",
        ),
        "move_begun_elsewhere": RefusalEntry(
            Conflict,
            "{store} holds a move that was begun from {source}.",
            "Go on with that one, or name a new store; nothing was changed.",
            "{store} 中有一次从 {source} 开始的迁移。",
            "请继续那次迁移,或指定一个新的存储;没有做任何改动。",
        ),
        "move_target_in_use": RefusalEntry(
            Conflict,
            "The move to {store} was complete, and one of the two has changed since: they differ in {part}.",
            "Work with {store}, or name a new store; nothing was changed.",
            "到 {store} 的迁移早已完成,此后其中一方有了变化:两者的 {part} 不同。",
            "请使用 {store},或指定一个新的存储;没有做任何改动。",
        ),
        "move_differs": RefusalEntry(
            Conflict,
            "The copy in {store} is not what the source holds: {part}, {there} there and {here} in the source.",
            "The source has changed since the move began. Move again; if that does not help, name a new store.",
            "{store} 中的副本与来源不一致:{part},副本有 {there} 个,来源有 {here} 个。",
            "迁移开始后来源发生了变化。请再次迁移;如果仍然不行,请指定一个新的存储。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
