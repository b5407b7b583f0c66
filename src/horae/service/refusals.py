"""Every way in which an account, a token, a quota or an approval is refused: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ..errors import Conflict, InvalidTask, NotAllowed, NotAuthenticated, NotFound, Refusal, TooMuch
from ..model.refusals import Entry, refusal

CATALOGUE: Final[dict[str, Entry]] = {
    "bad_token": Entry(
        NotAuthenticated,
        "This token is not valid here.",
        "Give a token that has neither expired nor been revoked; 'horae token make NAME' makes one.",
        "此令牌在这里无效。",
        "请提供未过期且未被撤销的令牌;可用“horae token make 名称”创建。",
    ),
    "not_for_agents": Entry(
        NotAllowed,
        "An agent may not do that: {what} are its owner's business.",
        "An agent has its own tasks and their runs, and nothing else; ask its owner.",
        "代理不能这样做:{what} 属于其所有者。",
        "代理只能处理自己的任务及其运行;请联系其所有者。",
    ),
    "too_many_lanes": Entry(
        TooMuch,
        "An owner may have {most} lanes, and that is how many there are.",
        "Use one of those that are there; 'horae lanes' lists them.",
        "每个所有者最多 {most} 条通道,现已达到上限。",
        "请使用已有的通道;“horae lanes”会列出它们。",
    ),
    "no_such_owner": Entry(
        NotFound,
        "There is no owner '{name}'.",
        "Check the name; an admin makes one with 'horae owner add {name}'.",
        "没有所有者“{name}”。",
        "请检查名称;管理员可用“horae owner add {name}”创建。",
    ),
    "bad_owner_name": Entry(
        InvalidTask,
        "An owner cannot be called '{name}'.",
        "Use 1 to {most} letters, digits or - _ . : @, beginning with a letter or digit; not 'horae:' at the beginning.",
        "所有者不能命名为“{name}”。",
        "请使用 1 到 {most} 个字母、数字或 - _ . : @,以字母或数字开头;不能以“horae:”开头。",
    ),
    "bad_agent_name": Entry(
        InvalidTask,
        "An agent cannot be called '{name}'.",
        "Use 1 to {most} letters, digits or - _ . : @, beginning with a letter or digit.",
        "代理不能命名为“{name}”。",
        "请使用 1 到 {most} 个字母、数字或 - _ . : @,以字母或数字开头。",
    ),
    "own_account": Entry(
        Conflict,
        "'{name}' is the owner that you act as: you would lock yourself out.",
        "Let another admin do it.",
        "“{name}”是你当前使用的所有者:这样会把你自己锁在外面。",
        "请由另一位管理员操作。",
    ),
    "stale_owner": Entry(
        Conflict,
        "The owner '{name}' has changed since: it is at version {version} now, not {expected}.",
        "Look at it again, and repeat the change.",
        "所有者“{name}”在此期间已被修改:当前版本为 {version},而不是 {expected}。",
        "请重新查看后再次修改。",
    ),
    "no_such_token": Entry(
        NotFound,
        "There is no token '{id}'.",
        "See which there are with 'horae token ls'.",
        "没有令牌“{id}”。",
        "可用“horae token ls”查看。",
    ),
    "too_many_tokens": Entry(
        TooMuch,
        "'{owner}' already has {most} tokens, and no more are kept.",
        "Those that were revoked or have expired go after 90 days; until then one token can serve several programs.",
        "“{owner}”已有 {most} 个令牌,不能再增加。",
        "被撤销或过期的令牌会在 90 天后移除;在此之前,多个程序可以共用一个令牌。",
    ),
    "scopes_too_wide": Entry(
        NotAllowed,
        "A token made here cannot have '{scope}'.",
        "At most: {allowed}.",
        "在这里创建的令牌不能有“{scope}”。",
        "最多:{allowed}。",
    ),
    "expires_past": Entry(
        InvalidTask,
        "A token that expires at {value} would already be over.",
        "Give a later instant with a zone, or none for a token without an end.",
        "在 {value} 过期的令牌已经失效。",
        "请给出更晚且带时区的时刻,或不给时刻表示永不过期。",
    ),
    "interval_too_short": Entry(
        InvalidTask,
        "This would run {found} apart; at least {least} is allowed.",
        "The nearest that is allowed: every {least}. For less, ask an admin to change 'shortest_interval'.",
        "两次运行仅相隔 {found};至少需要 {least}。",
        "最接近的可用值:every {least}。如需更短,请管理员调整“shortest_interval”。",
    ),
    "retry_too_soon": Entry(
        InvalidTask,
        "{name} of its retries is {found}; at least {least} is allowed.",
        "Give {name} {least} or more, or no retries. For less, ask an admin to change 'shortest_interval'.",
        "其重试的 {name} 为 {found};至少需要 {least}。",
        "请将 {name} 设为 {least} 或更长,或不重试。如需更短,请管理员调整“shortest_interval”。",
    ),
    "too_many_tasks": Entry(
        TooMuch,
        "{used} of {most} active tasks are in use, and this would make {wanted}.",
        "Pause or cancel one first, or ask an admin to change 'active_tasks'.",
        "{most} 个活动任务已使用 {used} 个,此操作将变为 {wanted} 个。",
        "请先暂停或取消一个任务,或请管理员调整“active_tasks”。",
    ),
    "life_too_long": Entry(
        InvalidTask,
        "An agent's task must end within {most}, and this one does not.",
        "Let it end by '{until}' at the latest: 'every day at 9 until {until}', or '10 times'.",
        "代理的任务必须在 {most} 内结束,而此任务不会。",
        "请最晚在“{until}”之前结束:“every day at 9 until {until}”,或“10 times”。",
    ),
    "reserved_label": Entry(
        InvalidTask,
        "The label '{name}' is Horae's own to write.",
        "Choose a name that does not begin with 'horae/'.",
        "标签“{name}”只能由 Horae 写入。",
        "请使用不以“horae/”开头的名称。",
    ),
    "awaiting_approval": Entry(
        Conflict,
        "The task waits for the approval of a person, and nothing of it runs before.",
        "Its owner approves it as it is with the digest {digest}.",
        "任务正在等待人工批准,在此之前不会运行。",
        "其所有者可用摘要 {digest} 按现状批准。",
    ),
    "nothing_to_approve": Entry(
        Conflict,
        "The task '{id}' waits for nobody's approval.",
        "Only what an agent made for an HTTP or command target does.",
        "任务“{id}”不需要批准。",
        "只有代理创建的、目标为 HTTP 或命令的任务才需要。",
    ),
    "digest_changed": Entry(
        Conflict,
        "The task is not the one that was looked at: its digest is {digest} now.",
        "Look at it again, and approve what it is now.",
        "任务已不是当时查看的样子:当前摘要为 {digest}。",
        "请重新查看,并批准当前内容。",
    ),
    "agent_stopped": Entry(
        NotAllowed,
        "The agent '{agent}' was stopped by its owner.",
        "Its owner starts it again when it may go on.",
        "代理“{agent}”已被其所有者停止。",
        "可以继续时,由其所有者重新启动。",
    ),
}


def refuse(code: str, **facts: object) -> Refusal:
    """Build the refusal for `code`; the caller raises it."""
    return refusal(code, CATALOGUE[code], facts)
