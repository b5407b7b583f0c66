"""Messages of the commands about servers, owners, tokens, webhooks and the audit trail, in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...message import Message

# --- servers -----------------------------------------------------------------------------------------------------------

TOKEN_OF: Final = Message("Token for {server}: ", "{server} 的令牌:")
LOGGED_IN: Final = Message(
    "Logged in to {server} as {owner}; commands go there from now on (context {name}).",
    "已以 {owner} 登录 {server};此后的命令都发往该服务器(上下文 {name})。",
)
TOKEN_FILE_WINS: Final = Message(
    "HORAE_TOKEN_FILE is set: its token is used instead of this login, except where a command names the context.",
    "已设置 HORAE_TOKEN_FILE:除非命令指定上下文名称,否则使用其中的令牌而不是这次登录。",
)
IN_CLEAR: Final = Message(
    "The address is not https: the network in between can read the token.",
    "地址不是 https:中间的任何人都能读取令牌。",
)
OTHER_VERSION: Final = Message(
    "The server has Horae {theirs}, this is {ours}.", "服务器的 Horae 版本为 {theirs},本机为 {ours}。"
)
SERVER_TROUBLE: Final = Message("The server cannot be reached: {problem}", "无法访问服务器:{problem}")
SERVER_ANSWERS: Final = Message(
    "Server {server} answers, Horae {theirs} ({origin})", "服务器 {server} 应答正常,Horae {theirs}({origin})"
)
SERVER_IS_OTHER: Final = Message(
    "Server {server} has Horae {theirs}, this is {ours} ({origin})",
    "服务器 {server} 的 Horae 为 {theirs},本机为 {ours}({origin})",
)
SAME_VERSION: Final = Message("use the same version on both sides", "两端使用相同的版本")
TOKEN_IDENTITY: Final = Message("It takes you for {owner}: {scopes}", "它认为您是 {owner}:{scopes}")
ALL_PARTS: Final = Message("It is ready: store and engine", "已就绪:存储与节点")
PARTS_MISSING: Final = Message("It is not ready: {names} missing", "尚未就绪:缺少 {names}")
PARTS_FIX: Final = Message("run 'horae doctor' where the store is", "在存储所在的机器上运行“horae doctor”")
SERVER_CLOCK_OFF: Final = Message("Against the server's, {off}", "与服务器相比,{off}")
CHECKS_FOR_ADMINS: Final = Message(
    "The checks that the server makes of itself are for admins", "服务器对自身的检查仅供管理员查看"
)
NO_SERVER_CHECKS: Final = Message(
    "The server did not return the checks of itself: {problem}", "服务器未返回对自身的检查:{problem}"
)
USE_HTTPS: Final = Message("put a proxy with TLS in front of it", "在其前面放置带 TLS 的代理")
CONTEXT_TITLES: Final = Message("|NAME|SERVER|OWNER", "|名称|服务器|所有者")
NO_CONTEXTS: Final = Message("No contexts yet: horae login URL", "还没有上下文:horae login 地址")
USING: Final = Message("Commands go to {server} now (context {name}).", "命令现在发往 {server}(上下文 {name})。")
USING_NONE: Final = Message("Commands go to a store again.", "命令重新使用存储。")
CONTEXT_GONE: Final = Message("Forgot {name} and its token.", "已删除 {name} 及其令牌。")
TOKEN_STAYS: Final = Message(
    "The token itself is still valid: 'horae token revoke TOKEN' ends it.",
    "令牌本身仍然有效:“horae token revoke 令牌”可将其作废。",
)

# --- tokens ------------------------------------------------------------------------------------------------------------

TOKEN_TITLES: Final = Message(
    "ID|NAME|OWNER|SCOPES|AGENT|CREATED|EXPIRES|STATE", "标识|名称|所有者|权限|智能体|创建|到期|状态"
)
TOKEN_STATES: Final = {
    "valid": Message("valid", "有效"),
    "expired": Message("expired", "已过期"),
    "revoked": Message("revoked", "已作废"),
}
SHOWN_ONCE: Final = Message(
    "This is the token {id} of {owner}. It is shown this once; keep it where only you can read it.",
    "这是 {owner} 的令牌 {id}。它只显示这一次;请保存在他人无法读取的地方。",
)
TOKEN_WRITTEN: Final = Message(
    "The token {id} of {owner} is in {path}; only you can read it.", "{owner} 的令牌 {id} 已写入 {path}，仅您可读。"
)
TOKEN_REVOKED: Final = Message(
    "{name} ({id}) opens nothing any more; everywhere within a second.", "{name}({id})已作废,一秒内处处生效。"
)
AGENT_REVOKED: Final = Message(
    "It was the last valid token of the agent {agent}: all that it made is paused.",
    "这是智能体 {agent} 的最后一个有效令牌：它创建的任务已全部暂停。",
)
REVOKE_TOKEN: Final = Message("Revoke the token {name}", "作废令牌 {name}")
NO_TOKENS: Final = Message("No tokens.", "没有令牌。")

# --- sessions ----------------------------------------------------------------------------------------------------------

SESSION_TITLES: Final = Message(
    "ID|OWNER|SIGNED IN|LAST USE|ENDS|TOKEN|BROWSER", "标识|所有者|登录|最近使用|到期|令牌|浏览器"
)
NO_SESSIONS: Final = Message("No browser is signed in: horae open", "没有已登录的浏览器:horae open")
SESSION_ENDED: Final = Message("{id} of {owner} is signed out.", "{owner} 的会话 {id} 已退出。")
VIEW_TITLES: Final = Message("LIST|NAME|QUERY", "列表|名称|查询")
NO_VIEWS: Final = Message(
    'No saved views yet: horae view add "to do" state:failed,paused',
    '还没有已保存的视图:horae view add "to do" state:failed,paused',
)
VIEW_SAVED: Final = Message(
    "Saved the view {name}: use it with {command} --view.", "已保存视图 {name}:用 {command} --view 使用。"
)
VIEW_GONE: Final = Message("Removed the view {name}.", "已删除视图 {name}。")
LINK_MADE: Final = Message(
    "The link signs one browser in, once, within ten minutes. Treat it like a password.",
    "此链接在十分钟内可让一个浏览器登录一次。请像密码一样保管。",
)
BROWSER_OPENS: Final = Message("A browser opens it now.", "正在浏览器中打开。")

# --- owners ------------------------------------------------------------------------------------------------------------

OWNER: Final = Message("OWNER", "所有者")
OWNER_TITLES: Final = Message("NAME|ROLE|ZONE|CREATED|STATE|NOTE", "名称|角色|时区|创建|状态|备注")
OWNER_STATES: Final = {
    "active": Message("active", "正常"),
    "revoked": Message("revoked: its tasks do not fire", "已停用:其任务不会触发"),
    "viewer": Message("viewer: its tasks do not fire", "查看者:其任务不会触发"),
    "exhausted": Message("used up its runs of today", "今日运行次数已用完"),
    "storage_full": Message("used up its stored bytes", "存储字节数已用完"),
    "both_used_up": Message("used up its runs of today and its stored bytes", "今日运行次数和存储字节数均已用完"),
}
RUNS_FIX: Final = Message("more runs on this day (UTC)", "增加当天(UTC)的运行次数")
STORAGE_FIX: Final = Message(
    "an admin allows more bytes; 'horae rm TASK' and retention make room too",
    "由管理员放宽字节数；“horae rm 任务”和历史保留期也会腾出空间",
)
RESTORE_FIX: Final = Message("an admin restores it", "由管理员恢复")
ROLE_FIX: Final = Message("an admin lets its tasks fire again", "由管理员使其任务重新触发")
NO_OWNERS: Final = Message("No owners yet: horae owner add NAME", "还没有所有者:horae owner add 名称")
OWNER_SET: Final = Message("{name} is set (version {version}).", "{name} 已设置(版本 {version})。")
OWNER_ADDED: Final = Message("{name} is added.", "已添加 {name}。")
OWNER_REVOKED: Final = Message(
    "Nothing of {name} runs any more, and its tokens open nothing. What it has stays.",
    "{name} 的任务不再运行,其令牌全部失效。已有内容保留。",
)
OWNER_RESTORED: Final = Message("{name} may go on.", "{name} 可以继续。")
REVOKE_OWNER: Final = Message("Revoke the owner {name}", "停用所有者 {name}")
ROLE: Final = Message("Role", "角色")
LANGUAGE: Final = Message("Language", "语言")
ZONE: Final = Message("Zone", "时区")
QUOTAS: Final = Message("May", "配额")
NOTE: Final = Message("Note", "备注")
STATE: Final = Message("State", "状态")
MADE: Final = Message("Made", "创建")
QUOTA_NAMES: Final = {
    "shortest_interval": Message("at least {limit} between two runs of a task", "同一任务两次运行至少间隔 {limit}"),
    "active_tasks": Message("{limit} active tasks", "{limit} 个活动任务"),
    "payload_bytes": Message("{limit} bytes of payload", "负载 {limit} 字节"),
    "runs_per_day": Message("{limit} runs a day", "每天 {limit} 次运行"),
    "concurrent_runs": Message("{limit} runs at once", "同时 {limit} 次运行"),
    "longest_life": Message("tasks that end within {limit}", "任务须在 {limit} 内结束"),
    "stored_tasks": Message("{limit} tasks in any state", "共 {limit} 个任务(含已暂停和已结束)"),
    "stored_bytes": Message(
        "{limit} bytes of task definitions, results and logs", "任务定义、结果和日志共 {limit} 字节"
    ),
    "tokens": Message("{limit} valid tokens", "{limit} 个有效令牌"),
    "requests_per_minute": Message("{limit} requests a minute", "每分钟 {limit} 次请求"),
    "event_streams": Message("{limit} event streams at once", "同时 {limit} 个事件流"),
    "idempotency_keys": Message("{limit} idempotency keys a day", "每天 {limit} 个幂等键"),
    "message_bytes": Message("{limit} bytes of text in a message", "每条消息文本 {limit} 字节"),
    "message_streams": Message("{limit} message streams", "{limit} 个消息流"),
    "stream_messages": Message("{limit} messages in a stream", "每个消息流 {limit} 条消息"),
    "stream_readers": Message("{limit} readers of a stream", "每个消息流 {limit} 个读取者"),
    "stored_message_bytes": Message("{limit} bytes of messages", "消息共 {limit} 字节"),
    "lanes": Message("{limit} lanes", "{limit} 条通道"),
    "task_lanes": Message("{limit} lanes of a task", "每个任务 {limit} 条通道"),
    "destinations": Message("{limit} destinations of messages", "{limit} 个通知目的地"),
    "chain_depth": Message("{limit} links in a chain", "每条链 {limit} 个链接"),
    "gate_bytes": Message("{limit} bytes of data of a gate", "门控的数据 {limit} 字节"),
}
ALL_AGENTS: Final = Message("all agents", "所有智能体")
APPROVAL_TITLES: Final = Message("NAME|AGENT|OWNER|WHEN", "名称|智能体|所有者|时间")
NO_APPROVALS: Final = Message("No task waits for approval.", "没有任务等待批准。")
SHOW_APPROVAL: Final = Message("Look at one and approve it: horae approve NAME", "查看并批准:horae approve 名称")
MORE_APPROVALS: Final = Message(
    "The first {number}; there are more. Look at one and approve it: horae approve NAME",
    "前 {number} 个,还有更多。查看并批准:horae approve 名称",
)
AGENT_TITLES: Final = Message("NAME|OWNER|STATE", "名称|所有者|状态")
NO_AGENTS: Final = Message(
    "No agents yet: horae token make NAME --agent NAME", "还没有智能体:horae token make 名称 --agent 名称"
)
AGENT_STATES: Final = {
    "active": Message("active", "正常"),
    "stopped": Message("stopped by its owner", "已被其所有者停止"),
    "revoked": Message("its last token was revoked", "其最后一个令牌已作废"),
}
NO_QUOTAS: Final = Message("anything, without a limit", "没有限制")
CHOSEN: Final = Message("chosen", "单独设置")

# --- webhooks ----------------------------------------------------------------------------------------------------------

CONTEXT_NOT_USED: Final = Message(
    "This node works on a store of its own; the context {context} ({server}) does not apply to it. "
    "Other commands still go there, until 'horae context use none'.",
    "本节点使用自己的存储;上下文 {context}({server})对它不起作用。其他命令仍会发往那里,直到执行“horae context use none”。",
)
SERVER_NOT_USED: Final = Message(
    "This node works on a store of its own; HORAE_SERVER ({server}) does not apply to it. "
    "Other commands still go there, until 'unset HORAE_SERVER'.",
    "本节点使用自己的存储;环境变量 HORAE_SERVER 的 {server} 对它不起作用。其他命令仍会发往那里,直到执行“unset HORAE_SERVER”。",
)
WEBHOOK_TITLES: Final = Message("ID|URL|TYPES|STATE|NOTE", "标识|地址|类型|状态|备注")
EVERYTHING: Final = Message("everything", "全部")
WEBHOOK_STATES: Final = {
    "enabled": Message("enabled", "启用"),
    "failing": Message("failing since {since}", "自 {since} 起失败"),
    "blocked": Message("not allowed by the node", "节点不允许"),
    "unsigned": Message("the node has no key to sign with", "节点没有用于签名的密钥"),
    "requested": Message("disabled", "已停用"),
    "gone": Message("disabled: it answered 410", "已停用:对方返回 410"),
    "silent": Message("disabled: nothing but failures for days", "已停用:连续多日失败"),
    "backlog": Message("disabled: too much waits for it", "已停用:积压过多"),
}
NO_WEBHOOKS: Final = Message(
    "No webhooks yet: horae webhook add https://…", "还没有 webhook:horae webhook add https://…"
)
WEBHOOK_MADE: Final = Message(
    "{id} receives events from now on; its secret is shown this once:", "{id} 从现在起接收事件;其密钥只显示这一次:"
)
WEBHOOK_ROTATED: Final = Message(
    "{id} has a new secret, shown this once; the former one signs beside it until {until}:",
    "{id} 已更换密钥,只显示这一次;旧密钥在 {until} 之前同时签名:",
)
WEBHOOK_GONE: Final = Message("{id} receives no more events.", "{id} 不再接收事件。")
REMOVE_WEBHOOK: Final = Message("Remove the webhook {id}", "删除 webhook {id}")
DELIVERY_TITLES: Final = Message("ID|TYPE|CREATED|STATE|TRIES|LAST ANSWER", "标识|类型|创建|状态|次数|最近应答")
DELIVERY_STATES: Final = {
    "pending": Message("pending", "待发送"),
    "delivered": Message("delivered", "已送达"),
    "failed": Message("failed", "失败"),
}
NO_DELIVERIES: Final = Message("Nothing was sent there yet.", "尚未发送任何内容。")
ANSWERED: Final = Message("{id}: answered {status}", "{id}:应答 {status}")
NOT_ANSWERED: Final = Message("{id}: not delivered: {answer}", "{id}:未送达:{answer}")

# --- messages to people ------------------------------------------------------------------------------------------------

DESTINATION_TITLES: Final = Message(
    "NAME|SERVICE|QUIET HOURS|REMINDERS|LAST MESSAGE", "名称|服务|静默时段|提醒|最近消息"
)
DESTINATION_SAVED: Final = Message("{name}: messages go to {service}.", "{name}:消息将发往 {service}。")
TAKES_REMINDERS: Final = Message(
    "What tasks say (--say) is sent there too; --no-reminders turns that off.",
    "任务说的话(--say)也会发往此处;可用 --no-reminders 关闭。",
)
URL_WAS_ARGUMENT: Final = Message(
    "The URL is now in the history of your shell. Leave it out next time, and a prompt asks for it.",
    "该 URL 已留在 shell 的历史记录中。下次可省略它,系统会提示输入。",
)
URL_OF: Final = Message("URL of '{name}': ", "“{name}”的 URL:")
NO_DESTINATIONS: Final = Message("No destinations yet: horae notify add NAME", "还没有目的地:horae notify add 名称")
YES: Final = Message("yes", "是")
LAST_SENT: Final = Message("sent {at}", "{at} 已发送")
LAST_FAILED: Final = Message("failed {at}: {answer}", "{at} 失败:{answer}")
SENT: Final = Message("sent", "已发送")
MESSAGE_SENT: Final = Message("A test message was sent to {name}.", "已向 {name} 发送测试消息。")
MESSAGE_NOT_SENT: Final = Message("{name}: not sent: {answer}", "{name}:未发送:{answer}")
REMOVE_DESTINATION: Final = Message("Remove the destination {name}", "删除目的地 {name}")
DESTINATION_GONE: Final = Message("No more messages go to {name}.", "不再向 {name} 发送消息。")
NOTICE_TITLES: Final = Message("CREATED|ON|TASK|STATE|TRIES|LAST ANSWER", "创建|事由|任务|状态|次数|最近应答")
OCCASIONS: Final = {
    "failed": Message("failed", "失败"),
    "recovered": Message("recovered", "恢复"),
    "overdue": Message("overdue", "逾期"),
    "succeeded": Message("succeeded", "成功"),
    "reminder": Message("reminder", "提醒"),
    "test": Message("test", "测试"),
}

# --- audit -------------------------------------------------------------------------------------------------------------

AUDIT_TITLES: Final = Message(
    "NUMBER|AT|ACTION|SUBJECT|OWNER|BY|ACTOR|VIA", "编号|时间|操作|对象|所有者|执行者|凭证|途径"
)
NO_AUDIT: Final = Message("Nothing was done yet.", "还没有任何操作。")
AUDIT_WHOLE: Final = Message(
    "The audit trail is whole: {rows} rows, {open} still to be sealed.", "审计记录完整:{rows} 行,{open} 行待封存。"
)
AUDIT_HEAD: Final = Message("Head", "末端")
