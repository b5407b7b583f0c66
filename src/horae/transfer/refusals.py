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
        "owner_not_movable": RefusalEntry(
            InvalidTask,
            "'{owner}' cannot be moved by itself.",
            "Name an account. The group of an agent has files on its nodes: move the whole deployment instead.",
            "“{owner}”不能单独迁移。",
            "请给出一个账户。智能体的群组在节点上有文件:请迁移整个部署。",
        ),
        "owner_exists_there": RefusalEntry(
            Conflict,
            "There is an owner '{owner}' in {store} already.",
            "Two owners are never merged. Rename nothing by hand: move it to another deployment, or cancel and delete what is there.",
            "{store} 中已有所有者“{owner}”。",
            "两个所有者不会被合并。请迁移到另一个部署,或先取消并删除那里的内容。",
        ),
        "owner_moves_elsewhere": RefusalEntry(
            Conflict,
            "Another move of the owner '{owner}' is under way, with {store}.",
            "Go on with that one, or give it up with --abort; nothing was changed.",
            "所有者“{owner}”的另一次迁移正在进行,另一端为 {store}。",
            "请继续那次迁移,或用 --abort 放弃;没有做任何改动。",
        ),
        "owner_arrives_here": RefusalEntry(
            Conflict,
            "The owner '{owner}' has not arrived in {store} yet.",
            "Go on with the move to it first.",
            "所有者“{owner}”尚未到达 {store}。",
            "请先完成到它的迁移。",
        ),
        "owner_runs_live": RefusalEntry(
            Conflict,
            "Runs of the owner '{owner}' still go on: {runs}.",
            "Nothing new of it starts. Wait and give the same command again, cancel the runs, or give up with --abort.",
            "所有者“{owner}”仍有运行未结束:{runs}。",
            "不会再启动新的运行。请稍后再次执行同一命令,或取消这些运行,或用 --abort 放弃。",
        ),
        "owner_events_unread": RefusalEntry(
            Conflict,
            "Events of the owner '{owner}' are not on their way to its webhooks and destinations yet.",
            "A node of the source sends them: start one, then give the same command again, or give up with --abort.",
            "所有者“{owner}”的事件尚未发往其 webhook 和通知目的地。",
            "由来源的节点发送:请启动一个节点后再次执行同一命令,或用 --abort 放弃。",
        ),
        "owner_differs": RefusalEntry(
            Conflict,
            "The copy of the owner '{owner}' in {store} is not what the source holds: {part}.",
            "Give the same command again; until then the owner runs nowhere. If it does not help, give up with --abort.",
            "所有者“{owner}”在 {store} 中的副本与来源不一致:{part}。",
            "请再次执行同一命令;在此之前该所有者不在任何地方运行。如果仍然不行,请用 --abort 放弃。",
        ),
        "owner_chain_left": RefusalEntry(
            Conflict,
            "Tasks of the owner '{owner}' at the source are linked in a circle and cannot be removed.",
            "Run 'horae db check' there, and give the same command again.",
            "来源中所有者“{owner}”的任务互相链接成环,无法移除。",
            "请在那里运行“horae db check”,然后再次执行同一命令。",
        ),
        "owner_moved_by_another": RefusalEntry(
            Conflict,
            "Another process moves the owner '{owner}' at this moment.",
            "Let one of them go on alone.",
            "另一个进程此刻正在迁移所有者“{owner}”。",
            "请只让其中一个继续。",
        ),
        "owner_not_moving": RefusalEntry(
            Conflict,
            "No move of the owner '{owner}' is under way.",
            "There is nothing to give up.",
            "所有者“{owner}”没有正在进行的迁移。",
            "没有可以放弃的内容。",
        ),
        "owner_move_past": RefusalEntry(
            Conflict,
            "The owner '{owner}' belongs to {store} already: this move can only go on.",
            "Give the command without --abort. Afterwards the owner can be moved back.",
            "所有者“{owner}”已属于 {store}:这次迁移只能继续。",
            "请不带 --abort 再次执行;之后可以把所有者迁回。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
