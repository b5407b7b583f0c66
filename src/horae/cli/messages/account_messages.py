"""Every sentence of the commands about servers, owners, tokens, webhooks and the audit trail, in English and Chinese."""

from __future__ import annotations

from typing import Final

from .messages import Words

# --- servers -----------------------------------------------------------------------------------------------------------

TOKEN_OF: Final = Words("Token for {server}: ", "{server} 的令牌:")
LOGGED_IN: Final = Words(
    "Logged in to {server} as {owner}; commands go there from now on (context {name}).",
    "已以 {owner} 登录 {server};此后的命令都发往该服务器(上下文 {name})。",
)
TOKEN_FILE_WINS: Final = Words(
    "HORAE_TOKEN_FILE is set: its token is used instead of this login, except where a command names the context.",
    "已设置 HORAE_TOKEN_FILE:除非命令指定上下文名称,否则使用其中的令牌而不是这次登录。",
)
IN_CLEAR: Final = Words(
    "The address is not https: whoever is in between can read the token.",
    "地址不是 https:中间的任何人都能读取令牌。",
)
OTHER_VERSION: Final = Words(
    "The server has Horae {theirs}, this is {ours}.", "服务器的 Horae 版本为 {theirs},本机为 {ours}。"
)
SERVER_TROUBLE: Final = Words("The server cannot be asked: {problem}", "无法询问服务器:{problem}")
SERVER_ANSWERS: Final = Words(
    "Server {server} answers, Horae {theirs} ({origin})", "服务器 {server} 应答正常,Horae {theirs}({origin})"
)
SERVER_IS_OTHER: Final = Words(
    "Server {server} has Horae {theirs}, this is {ours} ({origin})",
    "服务器 {server} 的 Horae 为 {theirs},本机为 {ours}({origin})",
)
SAME_VERSION: Final = Words("use the same version on both sides", "两端使用相同的版本")
TAKEN_FOR: Final = Words("It takes you for {owner}: {scopes}", "它认为您是 {owner}:{scopes}")
ALL_PARTS: Final = Words("It is ready: store and engine", "已就绪:存储与节点")
PARTS_MISSING: Final = Words("It is not ready: {names} missing", "尚未就绪:缺少 {names}")
PARTS_FIX: Final = Words("run 'horae doctor' where the store is", "在存储所在的机器上运行“horae doctor”")
USE_HTTPS: Final = Words("put a proxy with TLS in front of it", "在其前面放置带 TLS 的代理")
CONTEXT_TITLES: Final = Words("|NAME|SERVER|OWNER", "|名称|服务器|所有者")
NO_CONTEXTS: Final = Words("No contexts yet: horae login URL", "还没有上下文:horae login 地址")
USING: Final = Words("Commands go to {server} now (context {name}).", "命令现在发往 {server}(上下文 {name})。")
USING_NONE: Final = Words("Commands go to a store again.", "命令重新使用存储。")
CONTEXT_GONE: Final = Words("Forgot {name} and its token.", "已删除 {name} 及其令牌。")
TOKEN_STAYS: Final = Words(
    "The token itself is still valid: 'horae token revoke TOKEN' ends it.",
    "令牌本身仍然有效:“horae token revoke 令牌”可将其作废。",
)

# --- tokens ------------------------------------------------------------------------------------------------------------

TOKEN_TITLES: Final = Words(
    "ID|NAME|OWNER|SCOPES|AGENT|CREATED|EXPIRES|STATE", "标识|名称|所有者|权限|智能体|创建|到期|状态"
)
TOKEN_STATES: Final = {
    "valid": Words("valid", "有效"),
    "expired": Words("expired", "已过期"),
    "revoked": Words("revoked", "已作废"),
}
SHOWN_ONCE: Final = Words(
    "This is the token {id} of {owner}. It is shown this once; keep it where nobody else can read it.",
    "这是 {owner} 的令牌 {id}。它只显示这一次;请保存在他人无法读取的地方。",
)
TOKEN_WRITTEN: Final = Words(
    "The token {id} of {owner} is in {path}; only you can read it.", "{owner} 的令牌 {id} 已写入 {path}，仅你可读。"
)
TOKEN_REVOKED: Final = Words(
    "{name} ({id}) opens nothing any more; everywhere within a second.", "{name}({id})已作废,一秒内处处生效。"
)
AGENT_REVOKED: Final = Words(
    "It was the last valid token of the agent {agent}: all that it made is paused.",
    "这是智能体 {agent} 的最后一个有效令牌：它创建的任务已全部暂停。",
)
REVOKE_TOKEN: Final = Words("Revoke the token {name}", "作废令牌 {name}")
NO_TOKENS: Final = Words("No tokens.", "没有令牌。")

# --- owners ------------------------------------------------------------------------------------------------------------

OWNER: Final = Words("OWNER", "所有者")
OWNER_TITLES: Final = Words("NAME|ROLE|ZONE|CREATED|STATE|NOTE", "名称|角色|时区|创建|状态|备注")
OWNER_STATES: Final = {
    "active": Words("active", "正常"),
    "revoked": Words("revoked: its tasks do not fire", "已停用:其任务不会触发"),
    "viewer": Words("viewer: its tasks do not fire", "查看者:其任务不会触发"),
    "exhausted": Words("used up its runs of today", "今日运行次数已用完"),
    "storage_full": Words("used up its stored bytes", "存储字节数已用完"),
    "both_used_up": Words("used up its runs of today and its stored bytes", "今日运行次数和存储字节数均已用完"),
}
RUNS_FIX: Final = Words("more runs on this day (UTC)", "增加当天(UTC)的运行次数")
STORAGE_FIX: Final = Words(
    "an admin allows more bytes; 'horae rm TASK' and retention make room too",
    "由管理员放宽字节数；“horae rm 任务”和历史保留期也会腾出空间",
)
RESTORE_FIX: Final = Words("an admin lets it go on", "由管理员恢复")
ROLE_FIX: Final = Words("an admin lets its tasks fire again", "由管理员使其任务重新触发")
NO_OWNERS: Final = Words("No owners yet: horae owner add NAME", "还没有所有者:horae owner add 名称")
OWNER_SET: Final = Words("{name} is set (version {version}).", "{name} 已设置(版本 {version})。")
OWNER_ADDED: Final = Words("{name} is added.", "已添加 {name}。")
OWNER_REVOKED: Final = Words(
    "Nothing of {name} runs any more, and its tokens open nothing. What it has stays.",
    "{name} 的任务不再运行,其令牌全部失效。已有内容保留。",
)
OWNER_RESTORED: Final = Words("{name} may go on.", "{name} 可以继续。")
REVOKE_OWNER: Final = Words("Revoke the owner {name}", "停用所有者 {name}")
ROLE: Final = Words("Role", "角色")
ZONE: Final = Words("Zone", "时区")
QUOTAS: Final = Words("May", "配额")
NOTE: Final = Words("Note", "备注")
STATE: Final = Words("State", "状态")
MADE: Final = Words("Made", "创建")
QUOTA_NAMES: Final = {
    "shortest_interval": Words("at least {limit} between two runs of a task", "同一任务两次运行至少间隔 {limit}"),
    "active_tasks": Words("{limit} active tasks", "{limit} 个活动任务"),
    "payload_bytes": Words("{limit} bytes of payload", "负载 {limit} 字节"),
    "runs_per_day": Words("{limit} runs a day", "每天 {limit} 次运行"),
    "concurrent_runs": Words("{limit} runs at once", "同时 {limit} 次运行"),
    "longest_life": Words("tasks that end within {limit}", "任务须在 {limit} 内结束"),
    "stored_tasks": Words("{limit} tasks in any state", "共 {limit} 个任务(含已暂停和已结束)"),
    "stored_bytes": Words("{limit} bytes of task definitions, results and logs", "任务定义、结果和日志共 {limit} 字节"),
    "tokens": Words("{limit} valid tokens", "{limit} 个有效令牌"),
    "requests_per_minute": Words("{limit} requests a minute", "每分钟 {limit} 次请求"),
    "event_streams": Words("{limit} event streams at once", "同时 {limit} 个事件流"),
    "idempotency_keys": Words("{limit} idempotency keys a day", "每天 {limit} 个幂等键"),
}
ALL_AGENTS: Final = Words("all agents", "所有智能体")
AGENT_STATES: Final = {
    "active": Words("active", "正常"),
    "stopped": Words("stopped by its owner", "已被其所有者停止"),
    "revoked": Words("its last token was revoked", "其最后一个令牌已作废"),
}
NO_QUOTAS: Final = Words("anything, without a limit", "没有限制")
CHOSEN: Final = Words("chosen", "单独设置")

# --- webhooks ----------------------------------------------------------------------------------------------------------

CONTEXT_NOT_USED: Final = Words(
    "This node works on a store of its own; the context {context} ({server}) does not apply to it. "
    "Other commands still go there, until 'horae context use none'.",
    "本节点使用自己的存储;上下文 {context}({server})对它不起作用。其他命令仍会发往那里,直到执行“horae context use none”。",
)
SERVER_NOT_USED: Final = Words(
    "This node works on a store of its own; HORAE_SERVER ({server}) does not apply to it. "
    "Other commands still go there, until 'unset HORAE_SERVER'.",
    "本节点使用自己的存储;环境变量 HORAE_SERVER 的 {server} 对它不起作用。其他命令仍会发往那里,直到执行“unset HORAE_SERVER”。",
)
WEBHOOK_TITLES: Final = Words("ID|URL|TYPES|STATE|NOTE", "标识|地址|类型|状态|备注")
EVERYTHING: Final = Words("everything", "全部")
WEBHOOK_STATES: Final = {
    "enabled": Words("enabled", "启用"),
    "failing": Words("failing since {since}", "自 {since} 起失败"),
    "blocked": Words("not allowed by the node", "节点不允许"),
    "unsigned": Words("the node has no key to sign with", "节点没有用于签名的密钥"),
    "requested": Words("disabled", "已停用"),
    "gone": Words("disabled: it answered 410", "已停用:对方返回 410"),
    "silent": Words("disabled: nothing but failures for days", "已停用:连续多日失败"),
    "backlog": Words("disabled: too much waits for it", "已停用:积压过多"),
}
NO_WEBHOOKS: Final = Words("No webhooks yet: horae webhook add https://…", "还没有 webhook:horae webhook add https://…")
WEBHOOK_MADE: Final = Words(
    "{id} is told from now on; its secret is shown this once:", "{id} 从现在起接收事件;其密钥只显示这一次:"
)
WEBHOOK_ROTATED: Final = Words(
    "{id} has a new secret, shown this once; the former one signs beside it until {until}:",
    "{id} 已更换密钥,只显示这一次;旧密钥在 {until} 之前同时签名:",
)
WEBHOOK_GONE: Final = Words("{id} is told nothing any more.", "{id} 不再接收事件。")
REMOVE_WEBHOOK: Final = Words("Remove the webhook {id}", "删除 webhook {id}")
DELIVERY_TITLES: Final = Words("ID|TYPE|CREATED|STATE|TRIES|LAST ANSWER", "标识|类型|创建|状态|次数|最近应答")
DELIVERY_STATES: Final = {
    "pending": Words("pending", "待发送"),
    "delivered": Words("delivered", "已送达"),
    "failed": Words("failed", "失败"),
}
NO_DELIVERIES: Final = Words("Nothing was sent there yet.", "尚未发送任何内容。")
ANSWERED: Final = Words("{id}: answered {status}", "{id}:应答 {status}")
NOT_ANSWERED: Final = Words("{id}: not delivered: {answer}", "{id}:未送达:{answer}")

# --- audit -------------------------------------------------------------------------------------------------------------

AUDIT_TITLES: Final = Words(
    "NUMBER|AT|ACTION|SUBJECT|OWNER|BY|ACTOR|VIA", "编号|时间|操作|对象|所有者|执行者|凭证|途径"
)
NO_AUDIT: Final = Words("Nothing was done yet.", "还没有任何操作。")
AUDIT_WHOLE: Final = Words(
    "The audit trail is whole: {rows} rows, {open} still to be sealed.", "审计记录完整:{rows} 行,{open} 行待封存。"
)
AUDIT_HEAD: Final = Words("Head", "末端")
