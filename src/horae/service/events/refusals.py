"""Refusals for event streams and webhooks: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound, TooMuch
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "events_gone": RefusalEntry(
            NotFound,
            "The events after {after} are no longer there: the log continues after {resumes}.",
            "Ask again with after={resumes}, and read the current state of what you follow.",
            "事件 {after} 之后的内容已不存在:日志从 {resumes} 之后继续。",
            "请用 after={resumes} 重新请求,并读取所关注对象的当前状态。",
        ),
        "webhook_without_key": RefusalEntry(
            Conflict,
            "The node that delivers cannot sign for {host}: it does not have the key of this store's secrets.",
            "Set HORAE_KEY_FILE for the node to the key file with which the webhook was made, and start the node again; "
            "what waits is then sent.",
            "负责投递的节点无法为 {host} 签名:它没有此存储的机密所用的密钥。",
            "请为该节点设置 HORAE_KEY_FILE,指向创建该 webhook 时所用的密钥文件,然后重新启动节点;等待中的内容随后会发送。",
        ),
        "no_such_webhook": RefusalEntry(
            NotFound,
            "There is no webhook '{id}'.",
            "List them with GET /v1/webhooks or 'horae webhook ls'.",
            "没有 webhook“{id}”。",
            "可用 GET /v1/webhooks 或“horae webhook ls”列出。",
        ),
        "no_such_delivery": RefusalEntry(
            NotFound,
            "There is no delivery '{id}' of this webhook.",
            "Deliveries are kept for {days} days.",
            "该 webhook 没有投递记录“{id}”。",
            "投递记录保留 {days} 天。",
        ),
        "too_many_webhooks": RefusalEntry(
            TooMuch,
            "'{owner}' has {most} webhooks already.",
            "Remove one that is no longer needed, or let one webhook take more types.",
            "“{owner}”已有 {most} 个 webhook。",
            "请删除不再需要的,或让一个 webhook 接收更多类型。",
        ),
        "stale_webhook": RefusalEntry(
            Conflict,
            "The webhook '{id}' has changed since: it is at version {version} now, not {expected}.",
            "Look at it again, and repeat the change.",
            "webhook“{id}”在此期间已被修改:当前版本为 {version},而不是 {expected}。",
            "请重新查看后再次修改。",
        ),
        "webhook_contested": RefusalEntry(
            Conflict,
            "The webhook '{id}' is being changed by other requests at the same time.",
            "Try again.",
            "webhook“{id}”一再被他人更改。",
            "请再试一次。",
        ),
        "webhook_disabled": RefusalEntry(
            Conflict,
            "The webhook '{id}' is disabled, so nothing is sent there.",
            "Enable it first: PATCH it with enabled true.",
            "webhook“{id}”已停用,不会向其发送任何内容。",
            "请先启用:以 enabled true 进行 PATCH。",
        ),
        "bad_destination_name": RefusalEntry(
            InvalidTask,
            "A destination cannot have this name.",
            "Use 1 to {most} of the characters A-Z a-z 0-9 _ . -, for example 'ops'; 'never' is taken.",
            "目的地不能使用这个名称。",
            "请使用 1 到 {most} 个字符:A-Z a-z 0-9 _ . -,例如“ops”;“never”不可用。",
        ),
        "no_such_destination": RefusalEntry(
            NotFound,
            "There is no destination '{name}'.",
            "See which there are with: horae notify ls",
            "没有目的地“{name}”。",
            "可用 horae notify ls 查看已有的目的地。",
        ),
        "unknown_destination": RefusalEntry(
            InvalidTask,
            "'{owner}' has no destination '{name}' to send messages to.",
            "Add it first: horae notify add {name}. {known}",
            "“{owner}”没有名为“{name}”的目的地。",
            "请先添加:horae notify add {name}。{known_zh}",
        ),
        "destination_url_missing": RefusalEntry(
            InvalidTask,
            "The destination '{name}' is new, and has no URL yet.",
            "Give its URL, for example mailto://user:password@example.org.",
            "目的地“{name}”是新的,还没有 URL。",
            "请给出 URL,例如 mailto://user:password@example.org。",
        ),
        "too_many_destinations": RefusalEntry(
            TooMuch,
            "'{owner}' has {most} destinations already.",
            "Remove one that is no longer needed (horae notify rm NAME), or ask an admin: horae owner set {owner} --quota destinations={more}",
            "“{owner}”已有 {most} 个目的地。",
            "请删除不再需要的(horae notify rm 名称),或请管理员执行:horae owner set {owner} --quota destinations={more}",
        ),
        "destination_contested": RefusalEntry(
            Conflict,
            "The destination '{name}' is being changed by other requests at the same time.",
            "Try again.",
            "目的地“{name}”一再被他人更改。",
            "请再试一次。",
        ),
        "bad_ping": RefusalEntry(
            InvalidTask,
            "The setting {name} cannot be used as it is.",
            "Give {wanted}.",
            "设置 {name} 无法使用。",
            "请给出 {wanted}。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
