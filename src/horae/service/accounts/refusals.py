"""Refusals for accounts, tokens, quotas and approvals: code, sentence and hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotAllowed, NotAuthenticated, NotFound, TooMuch
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "bad_token": RefusalEntry(
            NotAuthenticated,
            "This token is not valid here.",
            "Give a token that has neither expired nor been revoked. On the server's machine, an admin makes one for a member with 'horae --store URL token make NAME --owner OWNER'.",
            "此令牌在这里无效。",
            "请提供未过期且未被撤销的令牌。由管理员在服务器所在的机器上用“horae --store URL token make 名称 --owner 所有者”为成员创建。",
        ),
        "session_ended": RefusalEntry(
            NotAuthenticated,
            "This browser is not signed in, or its session has ended.",
            "Sign in again: run 'horae open' on the server's machine, or paste a token.",
            "此浏览器未登录,或会话已结束。",
            "请重新登录:在服务器所在的机器上运行“horae open”,或粘贴令牌。",
        ),
        "bad_sign_in_link": RefusalEntry(
            NotAuthenticated,
            "This sign-in link was used already, or has expired.",
            "Make a new one: run 'horae open' on the server's machine. A link works once, for ten minutes.",
            "此登录链接已被使用或已过期。",
            "请重新生成:在服务器所在的机器上运行“horae open”。每个链接只能使用一次,有效期十分钟。",
        ),
        "no_such_session": RefusalEntry(
            NotFound,
            "There is no session '{id}'.",
            "It may have ended already; the list of sessions shows those that are open.",
            "没有会话“{id}”。",
            "它可能已经结束;会话列表显示仍然有效的会话。",
        ),
        "not_for_agents": RefusalEntry(
            NotAllowed,
            "An agent may not do that: {what} belong to its owner.",
            "An agent has its own tasks and their runs, and nothing else; ask its owner.",
            "智能体不能这样做:{what} 属于其所有者。",
            "智能体只能处理自己的任务及其运行;请联系其所有者。",
        ),
        "too_many_lanes": RefusalEntry(
            TooMuch,
            "An owner may have {most} lanes, and all of them are in use.",
            "Use an existing lane; 'horae lanes' lists them.",
            "每个所有者最多 {most} 条通道,现已达到上限。",
            "请使用已有的通道;“horae lanes”会列出它们。",
        ),
        "no_such_owner": RefusalEntry(
            NotFound,
            "There is no owner '{name}'.",
            "Check the name; an admin makes one with 'horae owner add {name}'.",
            "没有所有者“{name}”。",
            "请检查名称;管理员可用“horae owner add {name}”创建。",
        ),
        "bad_owner_name": RefusalEntry(
            InvalidTask,
            "An owner cannot be called '{name}'.",
            "Use 1 to {most} letters, digits or - _ . : @, beginning with a letter or digit; not 'horae:' at the beginning.",
            "所有者不能命名为“{name}”。",
            "请使用 1 到 {most} 个字母、数字或 - _ . : @,以字母或数字开头;不能以“horae:”开头。",
        ),
        "bad_agent_name": RefusalEntry(
            InvalidTask,
            "An agent cannot be called '{name}'.",
            "Use 1 to {most} letters, digits or - _ . : @, beginning with a letter or digit.",
            "智能体不能命名为“{name}”。",
            "请使用 1 到 {most} 个字母、数字或 - _ . : @,以字母或数字开头。",
        ),
        "no_such_agent": RefusalEntry(
            NotFound,
            "'{owner}' has no agent '{agent}'.",
            "Check the name and the owner. {remedy}",
            "“{owner}”没有名为“{agent}”的智能体。",
            "请检查名称和所有者。{remedy_zh}",
        ),
        "own_account": RefusalEntry(
            Conflict,
            "'{name}' is the owner that you act as: you would lock yourself out.",
            "Let another admin do it.",
            "“{name}”是你当前使用的所有者:这样会把你自己锁在外面。",
            "请由另一位管理员操作。",
        ),
        "stale_owner": RefusalEntry(
            Conflict,
            "The owner '{name}' has changed since: it is at version {version} now, not {expected}.",
            "Look at it again, and repeat the change.",
            "所有者“{name}”在此期间已被修改:当前版本为 {version},而不是 {expected}。",
            "请重新查看后再次修改。",
        ),
        "no_such_token": RefusalEntry(
            NotFound,
            "There is no token '{id}'.",
            "See which there are with 'horae token ls'.",
            "没有令牌“{id}”。",
            "可用“horae token ls”查看。",
        ),
        "too_many_tokens": RefusalEntry(
            TooMuch,
            "'{owner}' already has {most} tokens, and no more are kept.",
            "Those that were revoked or have expired go after 90 days; until then one token can serve several programs.",
            "“{owner}”已有 {most} 个令牌,不能再增加。",
            "被撤销或过期的令牌会在 90 天后移除;在此之前,多个程序可以共用一个令牌。",
        ),
        "too_many_valid_tokens": RefusalEntry(
            TooMuch,
            "'{owner}' has {most} valid tokens, and no more are allowed.",
            "Revoke one first ('horae token revoke ID'), or ask an admin to change 'tokens'.",
            "“{owner}”已有 {most} 个有效令牌,不能再增加。",
            "请先撤销一个(“horae token revoke 标识”),或请管理员调整“tokens”。",
        ),
        "scopes_too_wide": RefusalEntry(
            NotAllowed,
            "A token made here cannot have '{scope}'.",
            "At most: {allowed}.",
            "在这里创建的令牌不能有“{scope}”。",
            "最多:{allowed}。",
        ),
        "expires_past": RefusalEntry(
            InvalidTask,
            "A token that expires at {value} would already be over.",
            "Give a later instant with a zone, or none for a token without an end.",
            "在 {value} 过期的令牌已经失效。",
            "请给出更晚且带时区的时刻,或不给时刻表示永不过期。",
        ),
        "interval_too_short": RefusalEntry(
            InvalidTask,
            "This would run {found} apart; at least {least} is allowed.",
            "The nearest that is allowed: '{example}'. An admin allows less with: {command}",
            "两次运行仅相隔 {found_zh}，至少需要 {least_zh}。",
            "最接近的可用写法：“{example_zh}”。管理员可用以下命令放宽：{command}",
        ),
        "retry_too_soon": RefusalEntry(
            InvalidTask,
            "{name} of its retries is {found}; at least {least} is allowed.",
            "Give {name} {least} or more, or no retries. An admin allows less with: {command}",
            "其重试的 {name} 为 {found_zh}，至少需要 {least_zh}。",
            "请将 {name} 设为 {least} 或更长，或不重试。管理员可用以下命令放宽：{command}",
        ),
        "too_many_tasks": RefusalEntry(
            TooMuch,
            "{used} of {most} active tasks are in use, and this would make {wanted}.",
            "Cancel one first, or pause one (an agent's paused tasks count too). An admin allows more with: {command}",
            "{most} 个活动任务已使用 {used} 个，此操作将变为 {wanted} 个。",
            "请先取消或暂停一个任务（智能体暂停的任务也计入）。管理员可用以下命令放宽：{command}",
        ),
        "quota_used_up": RefusalEntry(
            TooMuch,
            "A quota of {name} is used up (runs per day, or stored bytes), so nothing of it runs now.",
            "An admin sees which one, and the command that allows more, with: {command}",
            "{name} 的一项配额已用完(每日运行次数或存储字节数),目前不会运行。",
            "管理员可用以下命令查看是哪一项以及如何放宽:{command}",
        ),
        "too_many_stored_tasks": RefusalEntry(
            TooMuch,
            "{used} of {most} tasks are stored, paused and finished ones included, and this would make {wanted}.",
            "Delete some first ('horae rm TASK'), or ask an admin to change 'stored_tasks'.",
            "已存储 {used} 个任务,上限 {most} 个(含已暂停和已结束),此操作将变为 {wanted} 个。",
            "请先删除一些任务(“horae rm 任务”),或请管理员调整“stored_tasks”。",
        ),
        "too_many_bytes": RefusalEntry(
            TooMuch,
            (
                "Task definitions, results and logs of this owner take {used} of {most} bytes, and this would make {wanted}."
            ),
            "Delete a task and its history first ('horae rm TASK'). An admin allows more with: {command}",
            "该所有者的任务定义、结果和日志已占用 {used} 字节，上限 {most} 字节，此操作将变为 {wanted} 字节。",
            "请先删除任务及其历史（“horae rm 任务”）。管理员可用以下命令放宽：{command}",
        ),
        "too_many_streams": RefusalEntry(
            TooMuch,
            "{most} event streams of this owner are open, and no more are allowed.",
            "Close one and try again, read pages with 'after' instead, or ask an admin to change 'event_streams'.",
            "该所有者已打开 {most} 个事件流,不能再增加。",
            "请关闭一个后重试,改用带 after 的分页读取,或请管理员调整“event_streams”。",
        ),
        "streams_full": RefusalEntry(
            TooMuch,
            "This server has no room for another event stream.",
            "Try again in {retry_after} s, or read pages with 'after' instead.",
            "此服务器已无法再打开事件流。",
            "请在 {retry_after} 秒后重试,或改用带 after 的分页读取。",
        ),
        "too_many_keys": RefusalEntry(
            TooMuch,
            "This owner used {most} idempotency keys today (UTC), and no more are kept.",
            "Send the request without 'Idempotency-Key', wait {retry_after} s, or ask an admin to change 'idempotency_keys'.",
            "该所有者今天(UTC)已使用 {most} 个幂等键,不能再保存更多。",
            "请不带“Idempotency-Key”发送,等待 {retry_after} 秒,或请管理员调整“idempotency_keys”。",
        ),
        "life_too_long": RefusalEntry(
            InvalidTask,
            "A task here must end within {most}, and this one does not.",
            "Give it an end, such as '{example}'. An admin lifts the limit with: {command}",
            "这里的任务必须在 {most_zh} 内结束，而此任务不会。",
            "请为它设定结束，例如“{example_zh}”。管理员可用以下命令取消此限制：{command}",
        ),
        "reserved_label": RefusalEntry(
            InvalidTask,
            "Only Horae can write the label '{name}'.",
            "Choose a name that does not begin with 'horae/'.",
            "标签“{name}”只能由 Horae 写入。",
            "请使用不以“horae/”开头的名称。",
        ),
        "awaiting_approval": RefusalEntry(
            Conflict,
            "The task waits for the approval of a person, and does not run before.",
            "Its owner looks at it and approves it: horae approve {id} (digest {digest})",
            "任务正在等待人工批准,在此之前不会运行。",
            "由其所有者查看并批准：horae approve {id}（摘要 {digest}）",
        ),
        "nothing_to_approve": RefusalEntry(
            Conflict,
            "The task '{id}' needs no approval.",
            "Only tasks that an agent made need approval: HTTP calls, commands, and functions that the setting agent_functions does not name.",
            "任务“{id}”不需要批准。",
            "只有智能体创建的任务才需要：HTTP 请求、命令，以及设置 agent_functions 未列出的函数。",
        ),
        "digest_changed": RefusalEntry(
            Conflict,
            "The task has changed since you looked at it: its digest is {digest} now.",
            "Look at it again, and approve it as it is now.",
            "任务已不是当时查看的样子:当前摘要为 {digest}。",
            "请重新查看,并批准当前内容。",
        ),
        "secret_not_granted": RefusalEntry(
            NotAllowed,
            "The agent '{agent}' has no grant for the secret '{name}', so its tasks cannot use it.",
            "Its owner grants it: horae secret grant {name} --agent {agent} --owner {owner}",
            "智能体“{agent}”未获授权使用机密“{name}”，其任务不能引用它。",
            "由其所有者授权：horae secret grant {name} --agent {agent} --owner {owner}",
        ),
        "no_such_grant": RefusalEntry(
            NotFound,
            "The secret '{name}' is not granted to the agent '{agent}'.",
            "{remedy}",
            "机密“{name}”未授权给智能体“{agent}”。",
            "{remedy_zh}",
        ),
        "too_many_grants": RefusalEntry(
            TooMuch,
            "The secret '{name}' is granted to {most} agents already, and no more can be kept.",
            "Take one back first: horae secret revoke {name} --agent AGENT --owner {owner}",
            "机密“{name}”已授权给 {most} 个智能体，不能再增加。",
            "请先收回一个：horae secret revoke {name} --agent 智能体 --owner {owner}",
        ),
        "agent_revoked": RefusalEntry(
            NotAllowed,
            "The last token of the agent '{agent}' was revoked, and nothing that it made runs any more.",
            "Make a new token first: horae token make {agent} --agent {agent} --owner {owner}; then: horae agent restart {agent} --owner {owner}",
            "智能体“{agent}”的最后一个令牌已作废，它创建的任务都不再运行。",
            "请先创建新令牌：horae token make {agent} --agent {agent} --owner {owner}；然后：horae agent restart {agent} --owner {owner}",
        ),
        "agent_stopped": RefusalEntry(
            NotAllowed,
            "The agent '{agent}' was stopped by its owner.",
            "Its owner starts it again when it may go on.",
            "智能体“{agent}”已被其所有者停止。",
            "可以继续时,由其所有者重新启动。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
