"""Sentences of the checks of a deployment, in English and Chinese, and the fix of each."""

from __future__ import annotations

from typing import Final

from ..message import Message
from ..ports.doctor import Fix
from ..stores.sql.reads.status import PossibleLoss
from .python_build import Optimisation

ON_SERVER: Final = Message(
    "{kind} {version} at {place}, database {database}, {kept}", "{kind} {version},{place},数据库 {database},{kept}"
)
KEPT_IN: Final = {
    "schema": Message("schema {named}", "模式 {named}"),
    "prefix": Message("tables {named}…", "表 {named}…"),
    "keys": Message("keys {{{named}}}:…", "键 {{{named}}}:…"),
}
CLOCK_OFF: Final = {
    True: Message("this machine's clock is {by} behind it", "本机时钟比它慢 {by}"),
    False: Message("this machine's clock is {by} ahead of it", "本机时钟比它快 {by}"),
}
TWO_OWNERS: Final = Message(
    "Tasks made here belong to local, the first token to admin: webhooks and lists of the one leave out the other.",
    "在本机创建的任务属于 local，首个令牌属于 admin：一方的 webhook 和列表不包括另一方。",
)
TWO_OWNERS_FIX: Final = Fix(
    Message(
        "horae token make NAME   makes a token of local; use it instead",
        "horae token make NAME   创建属于 local 的令牌，改用它",
    ),
    "horae token make NAME",
)
PYTHON: Final = Message(
    "Python {python} ({build}), SQLite {sqlite} (apsw {apsw})", "Python {python}({build}),SQLite {sqlite}(apsw {apsw})"
)
PYTHON_AND_DRIVER: Final = Message("Python {python} ({build}), {driver}", "Python {python}({build}),{driver}")
PYTHON_BUILDS: Final[dict[Optimisation, Message]] = {
    "optimised": Message("an optimised build", "优化构建"),
    "plain": Message(
        "built without optimisation: 7 to 25 % more processor time", "未经优化的构建:多用 7% 到 25% 的处理器时间"
    ),
    "unknown": Message("not known whether the build is optimised", "无法得知是否为优化构建"),
}
PYTHON_BUILD_FIX: Final = Fix(
    Message(
        "use a Python that was configured with --enable-optimizations, as those of python.org and of Linux distributions are",
        "请使用以 --enable-optimizations 配置的 Python,例如 python.org 或 Linux 发行版提供的版本",
    )
)
SETTINGS_FINE: Final = Message("Settings: {number} chosen, the rest as usual", "设置:已指定 {number} 项,其余为默认")
UNUSED_VARIABLE: Final = Message(
    "The variable {name} is set, but nothing here reads it", "已设置变量 {name},但这里没有任何程序读取它"
)
UNUSED_KEY: Final = Message(
    "{place} says {name}, but nothing here reads it", "{place} 中有 {name},但这里没有任何程序读取它"
)
UNUSED_NEAREST: Final = Message("did you mean {name}?", "是不是 {name}?")
UNUSED_FIX: Final = Fix(Message("horae config shows every setting", "horae config 会列出所有设置"), "horae config")
NO_STORE: Final = Message("No store yet: {path}", "还没有存储:{path}")
NO_STORE_FIX: Final = Fix(
    Message('horae add "every 10s" --say tick', 'horae add "every 10s" --say tick'), 'horae add "every 10s" --say tick'
)
NOT_A_STORE: Final = Message("{path}: {problem}", "{path}:{problem}")
NOT_A_STORE_FIX: Final = Fix(
    Message("horae db restore BACKUP, or choose another --store", "horae db restore 备份,或换一个 --store")
)
STORE_FINE: Final = Message(
    "Store: schema {schema}, journal {journal}, synchronous FULL, {size}, {path}",
    "存储:架构版本 {schema},日志 {journal},synchronous FULL,{size},{path}",
)
SERVER_FINE: Final = Message("Store: {where}; schema version {schema}, {size}", "存储:{where};架构版本 {schema},{size}")
NO_TABLES: Final = Message("No tables yet: {where}", "还没有表:{where}")
SERVER_FIX: Final = Fix(Message("look at the server's log", "查看服务器的日志"))
DURABLE: Final = Message("Durable: {settings}", "持久:{settings}")
DURABLE_FIX: Final = Message("turn on or set to 1: {names}", "打开,或设为 1:{names}")
LOSSES: Final = {
    PossibleLoss.POWER_FAILURE: Message(
        "When the power fails, the server may lose what it has acknowledged: {settings}",
        "断电时,服务器可能丢失已确认的数据:{settings}",
    ),
    PossibleLoss.FAILOVER: Message(
        "When another server takes over, acknowledged writes that it had not received are lost: {settings}",
        "其他服务器接管时,会丢失它尚未收到的已确认写入:{settings}",
    ),
    PossibleLoss.LAST_SECOND: Message(
        "When the server is killed, it can lose what it acknowledged in about the last second: {settings}",
        "服务器被强制终止时,可能丢失最近约一秒内确认的数据:{settings}",
    ),
    PossibleLoss.SINCE_SNAPSHOT: Message(
        "When the server is killed, it can lose everything since its last snapshot: {settings}",
        "服务器被强制终止时,可能丢失上次快照之后的全部数据:{settings}",
    ),
    PossibleLoss.UNKNOWN: Message(
        "What the server can lose is unknown: this user may not read its settings ({settings})",
        "无法得知服务器可能丢失什么:该用户不能读取其设置({settings})",
    ),
}
SHORT_LOSSES: Final = {
    PossibleLoss.POWER_FAILURE: Message("the last writes are lost when its power fails", "断电时会丢失最近的写入"),
    PossibleLoss.FAILOVER: Message(
        "the last writes can be lost when another server takes over", "其他服务器接管时可能丢失最近的写入"
    ),
    PossibleLoss.LAST_SECOND: Message(
        "about the last second is lost when it is killed", "被强制终止时会丢失最近约一秒"
    ),
    PossibleLoss.SINCE_SNAPSHOT: Message(
        "everything since its last snapshot is lost when it is killed", "被强制终止时会丢失上次快照之后的全部数据"
    ),
    PossibleLoss.UNKNOWN: Message("what it can lose is unknown", "无法得知它可能丢失什么"),
}
DURABLE_REDIS_FIX: Final = Message("set at the server: {names}", "在服务器上设置:{names}")
FAILOVER_FIXES: Final = {
    "standby": Fix(
        Message(
            "have each commit wait for a standby: synchronous_standby_names = 'ANY 1 (*)' and synchronous_commit = on",
            "让每次提交等待备用服务器:synchronous_standby_names = 'ANY 1 (*)',且 synchronous_commit = on",
        )
    ),
    "replica": Fix(
        Message(
            "add wait_replicas=1 to the store address: a commit then counts when a replica has it",
            "在存储地址中加上 wait_replicas=1:副本收到后提交才算完成",
        )
    ),
    "cluster": Fix(
        Message(
            "use a Sentinel set with wait_replicas=1, since commits in a cluster wait for no replica",
            "使用带 wait_replicas=1 的 Sentinel 集合:集群中的提交不等待副本",
        )
    ),
}
FEATURES_FINE: Final = Message("The server has every feature that the store uses", "服务器具备存储所需的全部功能")
FEATURE_MISSING: Final = Message("{problem} ({answer})", "{problem}（{answer}）")
FEATURE_FIX: Final = {
    True: Fix(
        Message(
            "use a server that has it, or grant this login the right to use it",
            "请使用具备该功能的服务器，或授予此登录名相应权限",
        )
    ),
    False: Fix(
        Message(
            "nothing needs to be done; a server or an address that has it is faster",
            "无需处理；换用具备该功能的服务器或地址会更快",
        )
    ),
}
FAILOVER_KEEPS: Final = Message(
    "A failover loses no acknowledged write: each commit waits for other servers ({count})",
    "故障转移不会丢失已确认的写入:每次提交都等待其他服务器({count})",
)
PLAN_LAYOUT_ON: Final = Message(
    "Plans are in plan:time:set and plan:msg:…, where other programs can read and change them",
    "计划位于 plan:time:set 和 plan:msg:…，其他程序可以读取和修改",
)
PLAN_LAYOUT_OFF: Final[dict[str, Message]] = {
    "cluster": Message(
        "Plans are not shown in plan:time:set: the names of that layout have no hash tag, so a cluster cannot change them together",
        "计划不在 plan:time:set 中：该布局的键名没有哈希标签，集群无法同时修改它们",
    ),
    "prefix": Message(
        "Plans are not shown in plan:time:set: its name has no prefix, and this deployment has one of its own",
        "计划不在 plan:time:set 中：其键名没有前缀，而本部署使用自己的前缀",
    ),
    "denied": Message(
        "Plans are not shown in plan:time:set: the login may not use keys that begin with plan:",
        "计划不在 plan:time:set 中：该登录无权使用以 plan: 开头的键",
    ),
}
PLAN_LAYOUT_FIX: Final = Fix(
    Message(
        "nothing is wrong unless other programs need the plans: then use one server, its own database, no prefix, and the right ~plan:*",
        "除非其他程序需要这些计划，否则无需处理；需要时请使用单个服务器、独立的数据库、不设前缀，并授予 ~plan:* 权限",
    )
)
PLANS_QUARANTINED: Final = Message(
    "{count} plans in Redis are left alone. {reason}",
    "Redis 中有 {count} 个计划未被使用。{reason}",
)
QUARANTINE_FIX: Final = Fix(
    Message(
        "write its message and its score again, or remove it: redis-cli ZREM plan:time:set KEY, then DEL KEY",
        "请重新写入其消息和分值，或将其移除：redis-cli ZREM plan:time:set KEY，再 DEL KEY",
    )
)
COPIED: Final = Message(
    "horae db backup FILE writes a snapshot of the server, as of one instant, while nodes run",
    "horae db backup 文件 在节点运行时写入服务器某一时刻的快照",
)
PLAIN_CONNECTION: Final = Message(
    "The connection to {host} is not encrypted: passwords and payloads can be read on the way",
    "与 {host} 的连接未加密:密码和数据可能在传输途中被读取",
)
PLAIN_FIX: Final = Message("put {option} into the address of the store", "在存储地址中使用 {option}")
DUMPED: Final = Message(
    "Backups are made with the server's own tools: {dump}; horae move FROM_URL sqlite:///FILE copies everything into a file",
    "备份使用服务器自带的工具:{dump};horae move 来源 sqlite:///文件 可把全部数据复制到文件",
)
CLOCKS_AGREE: Final = Message(
    "This machine's clock and the server's agree within {by}", "本机时钟与服务器时钟相差 {by}"
)
CLOCK_IS_OFF: Final = Message("Against the server's, {off}; nodes correct for it", "与服务器相比,{off};节点会自行校正")
CLOCK_TOO_FAR_OFF: Final = Message(
    "Against the server's, {off}: more than {tolerance}, so no node starts here",
    "与服务器相比,{off}:超过 {tolerance},此处不会启动节点",
)
NODE_CLOCKS: Final = Message(
    "Clocks are off by up to {by} on {names}; nodes correct for it", "{names} 的时钟偏差最多 {by};节点会自行校正"
)
NODE_CLOCKS_TOO_FAR: Final = Message(
    "Clocks are off by up to {by} on {names}: more than {tolerance}, so no node starts there",
    "{names} 的时钟偏差最多 {by}:超过 {tolerance},那里不会启动节点",
)
STORE_GONE: Final = Message("The file of the store is gone: {path}", "存储文件已不存在:{path}")
STORE_GONE_FIX: Final = Fix(
    Message(
        "bring the file back, or stop the node and run horae db restore BACKUP",
        "恢复该文件,或停止节点后执行 horae db restore 备份",
    )
)
NOT_ACCESSIBLE: Final = {
    "reading": Message("{path} cannot be opened for reading: {reason}.", "无法打开 {path} 进行读取:{reason}。"),
    "writing": Message("{path} cannot be opened for writing: {reason}.", "无法打开 {path} 进行写入:{reason}。"),
}
NOT_ACCESSIBLE_FIX: Final = Fix(
    Message(
        "Every command reads and writes the store: make the file and its folder writable, or use a copy of it.",
        "使用存储需要读写权限:请使该文件及其目录可写,或使用它的副本。",
    )
)
MACHINE_SILENT: Final = Message(
    "Machine not checked: its file system did not answer within {seconds} s",
    "未检查本机:{seconds} 秒内文件系统没有应答",
)
WRITES_REFUSED: Final = Message("The store refuses writes: {problem}", "存储拒绝写入:{problem}")
WRITES_REFUSED_FIX: Final = Fix(
    Message("make room on its disk, and check the rights to its files", "清理其磁盘空间,并检查文件的权限")
)
WRONG_JOURNAL: Final = Message("The journal mode is {journal}, not WAL", "日志模式为 {journal},而不是 WAL")
INTACT: Final = Message("Database intact", "数据库完好")
DAMAGED: Final = Message(
    "{number} things are wrong in the database; the first: {doubt}", "数据库有 {number} 处问题;第一处:{doubt}"
)
DAMAGED_FIX: Final = Fix(
    Message("horae db check, then horae db restore BACKUP", "horae db check,再 horae db restore 备份"), "horae db check"
)
INTEGRITY_TOO_LARGE: Final = Message(
    "Integrity not checked: the store has {size}, and a running server checks up to {limit}",
    "未检查完整性:存储为 {size},运行中的服务器最多检查 {limit}",
)
INTEGRITY_UNDER_WAY: Final = Message(
    "The integrity check is under way; its result is shown when it has ended", "完整性检查正在进行,结束后显示结果"
)
INTEGRITY_FIX: Final = Fix(Message("horae db check", "horae db check"), "horae db check")
STORE_SILENT: Final = Message(
    "Store not checked: it did not answer within {seconds} s", "未检查存储:{seconds} 秒内没有应答"
)
CONTENT_SILENT: Final = Message(
    "Tasks and nodes not checked: the store did not answer within {seconds} s",
    "未检查任务与节点:存储在 {seconds} 秒内没有应答",
)
BACKED_UP_AT: Final = Message("Last backup {ago}", "上次备份:{ago}")
NO_BACKUP: Final = Message("No backup was ever made", "从未备份")
OLD_BACKUP: Final = Message("The last backup is old: {ago}", "上次备份较旧:{ago}")
BACKUP_FIX: Final = Fix(Message("horae db backup PATH", "horae db backup 路径"), "horae db backup PATH")
CLOCK_FINE: Final = Message("Clock: wall and monotonic clock agree; {ntp}", "时钟:系统时间与单调时钟一致;{ntp}")
CLOCK_DRIFTS: Final = Message(
    "The wall clock moved by {drift} ms against the monotonic one during the check; {ntp}",
    "检查期间系统时间相对单调时钟移动了 {drift} 毫秒;{ntp}",
)
CLOCK_BEHIND: Final = Message(
    "The clock is behind the last thing that happened, by {behind}", "时钟比最近一次事件落后 {behind}"
)
CLOCK_STEP: Final = Message(
    "The clock of {host} was set back by {by} at {at}: interval tasks were planned again, all others waited",
    "{host} 的时钟在 {at} 被调慢 {by}:间隔任务已重新计划,其他任务等待其时刻",
)
CLOCK_FIX: Final = Fix(
    Message("let NTP keep the clock: timedatectl set-ntp true", "用 NTP 校时:timedatectl set-ntp true"),
    "timedatectl set-ntp true",
)
NTP_SYNCED: Final = Message("NTP is synchronised", "NTP 已同步")
NTP_UNKNOWN: Final = Message("whether NTP keeps it is not known here", "无法得知是否由 NTP 校时")
ZONES: Final = Message(
    "Zone data {version}; default zone {zone} (from {source})", "时区数据 {version};默认时区 {zone}(来自 {source})"
)
ZONE_NOWHERE: Final = Message(
    "Zone data {version}; no default zone is set, so {zone} counts", "时区数据 {version};未设置默认时区,按 {zone} 计算"
)
ZONE_FIX: Final = Fix(
    Message("set HORAE_ZONE, for example HORAE_ZONE=Europe/Berlin", "设置 HORAE_ZONE,例如 HORAE_ZONE=Asia/Shanghai")
)
BAD_ZONE: Final = Message("{source} names an unknown zone: {zone}", "{source} 指定了未知的时区:{zone}")
ZONES_OLDER: Final = Message(
    "Zone data {version} is older than {seen}, which this store has seen", "时区数据 {version} 比此存储见过的 {seen} 旧"
)
ZONES_FIX: Final = Fix(
    Message("pip install --upgrade tzdata", "pip install --upgrade tzdata"), "pip install --upgrade tzdata"
)
LATENESS: Final = Message(
    "Lateness last day: p50 {p50}, p99 {p99}, {share} % of {number} runs on time",
    "最近一天延迟:p50 {p50},p99 {p99},{number} 次运行中 {share} % 准时",
)
NO_LATENESS: Final = Message("Nothing ran within the last day", "最近一天没有运行")
LATENESS_FIX: Final = Fix(
    Message(
        "horae overview; look for long blocking functions and full lanes", "horae overview;检查阻塞的函数与占满的通道"
    ),
    "horae overview",
)
NOTHING_WAITS: Final = Message("Nothing due is left waiting", "没有滞留的到期任务")
OVERDUE: Final = Message("{number} are due, and not claimed by any node", "{number} 个已到期,但没有节点领取")
OVERDUE_FIX: Final = Fix(Message("horae up", "horae up"), "horae up")
PARKED: Final = Message("{number} wait for a slot in a full lane", "{number} 个在等待通道空位")
PARKED_FIX: Final = Fix(
    Message("horae lanes, then horae lane NAME LIMIT", "horae lanes,再 horae lane 名称 上限"), "horae lanes"
)
CHANNELS: Final = Message("Chat channels that receive messages: {names}", "正常接收消息的聊天渠道:{names}")
CHANNEL_FAILS: Final = Message(
    "The chat channel {name} receives nothing: {problem}", "聊天渠道 {name} 收不到消息:{problem}"
)
CHANNEL_FIX: Final = Fix(
    Message(
        "correct its table [channels.{name}] in horae.toml, or its token; it is tried again by itself",
        "请改正 horae.toml 中的 [channels.{name}] 或其令牌;之后会自动重试",
    )
)
SENDERS: Final = Message("The list of senders is read: {path}", "发送者名单可以读取:{path}")
SENDERS_DAMAGED: Final = Message(
    "No sender may wake an agent: the list of senders, {path}, has a defect: {problem}",
    "任何发送者都不能唤醒智能体:发送者名单 {path} 有错误:{problem}",
)
SENDERS_FIX: Final = Fix(
    Message(
        "correct the file, or remove it so that everyone in a chat may wake its agent",
        "请改正该文件,或删除它以允许聊天中的所有人唤醒智能体",
    )
)
MODEL_STATES: Final = {
    "answers": Message("The model endpoint {place} answers", "模型端点 {place} 有响应"),
    "key_refused": Message(
        "The key for the model endpoint {place} is not valid: {problem}", "模型端点 {place} 的密钥无效:{problem}"
    ),
    "fails": Message(
        "The model endpoint {place} answers with an error: {problem}", "模型端点 {place} 返回错误:{problem}"
    ),
    "unreachable": Message(
        "The model endpoint {place} cannot be reached: {problem}", "无法连接模型端点 {place}:{problem}"
    ),
    "missing": Message(
        "The mind {place} has no model: [targets.agent] has neither model_url nor model_socket",
        "智能体程序 {place} 没有模型:[targets.agent] 中既没有 model_url 也没有 model_socket",
    ),
}
MODEL_FIXES: Final = {
    "key_refused": Fix(
        Message(
            "set model_key in [targets.agent] to the name of a secret, and its value: horae secret set NAME --owner local",
            "在 [targets.agent] 中将 model_key 设为机密名称,并设置其值:horae secret set 名称 --owner local",
        )
    ),
    "fails": Fix(Message("look at the state page of the model's provider", "查看模型提供方的状态页")),
    "unreachable": Fix(
        Message(
            "correct model_url in [targets.agent] of horae.toml, or start the model",
            "请改正 horae.toml 中 [targets.agent] 的 model_url,或启动模型",
        )
    ),
    "missing": Fix(
        Message(
            'add model_url = "https://api.openai.com/v1" and model_key to [targets.agent] in horae.toml',
            '在 horae.toml 的 [targets.agent] 中加入 model_url = "https://api.openai.com/v1" 和 model_key',
        )
    ),
}
WAITS_FOR_NODE: Final = Message(
    "{number} are due and no running node can run them", "{number} 个已到期,但没有节点能执行"
)
WAITS_FOR_NODE_FIX: Final = Fix(
    Message("horae up FILE.py, with the file that has their functions", "horae up 文件.py,使用包含其函数的文件"),
    "horae up FILE.py",
)
LABELS: Final = Message("Labels of the running nodes: {names}", "正在运行的节点的标签:{names}")
LABELS_MISSING: Final = Message(
    "{number} tasks require labels that no running node has: {names}",
    "{number} 个任务要求的标签没有任何正在运行的节点具备:{names}",
)
NODES: Final = Message("Nodes that are running: {number}", "{number} 个节点正在运行")
NO_NODES: Final = Message("No engine is running, so nothing fires", "没有节点在运行,任何任务都不会触发")
STALE_NODES: Final = Message("{number} nodes died without leaving: {names}", "{number} 个节点异常退出:{names}")
STALE_FIX: Final = Fix(
    Message("the next engine that starts recovers their runs: horae up", "下一个启动的节点会接手:horae up"), "horae up"
)
FUNCTIONS_FINE: Final = Message("{number} functions registered", "已注册 {number} 个函数")
FUNCTIONS_DIFFER: Final = Message(
    "{number} functions are declared differently by running nodes: {names}",
    "{number} 个函数在正在运行的节点上声明不一致:{names}",
)
FUNCTIONS_DIFFER_FIX: Final = Fix(
    Message(
        "the newest registration counts; bring every node to the same code", "以最新注册为准;请让所有节点运行相同的代码"
    )
)
NO_LISTENER: Final = Message(
    "{number} tasks publish events that no listener receives: {names}", "{number} 个任务的消息没有监听者接收:{names}"
)
NO_LISTENER_FIX: Final = Fix(
    Message(
        "horae events --follow, an event stream, a webhook (horae webhook add URL), or targets.event.webhook",
        "可用 horae events --follow、事件流、webhook（horae webhook add URL）或 targets.event.webhook",
    ),
    "horae events --follow",
)
WEBHOOKS_BLOCKED: Final = Message(
    "{number} webhooks are not delivered, because the node does not allow the network: {names}",
    "{number} 个 webhook 未送达,因为节点不允许该网络:{names}",
)
WEBHOOKS_WITHOUT_KEY: Final = Message(
    "{number} webhooks are not delivered, because the node does not have the key of the secrets: {names}",
    "{number} 个 webhook 未送达,因为节点没有机密所用的密钥:{names}",
)
WEBHOOKS_FAILING: Final = Message("{number} webhooks fail: {names}", "{number} 个 webhook 发送失败:{names}")
WEBHOOKS_FAILING_FIX: Final = Fix(
    Message("horae webhook show NAME shows the last attempts", "horae webhook show 名称 显示最近的发送尝试"),
    "horae webhook ls",
)
DELIVERIES_WITHOUT_CHANNEL: Final = Message(
    "{number} texts wait for channels that the settings do not name: {names}",
    "{number} 条文本等待设置中没有的渠道:{names}",
)
DELIVERIES_WITHOUT_CHANNEL_FIX: Final = Fix(
    Message(
        "add the table [channels.NAME] to horae.toml again, or discard them: horae deliveries ls --state pending",
        "在 horae.toml 中重新加入 [channels.名称],或丢弃它们:horae deliveries ls --state pending",
    ),
    "horae deliveries ls --state pending",
)
DELIVERIES_WAIT: Final = Message(
    "{number} texts have waited for more than {minutes} minutes to be sent: {names}",
    "{number} 条文本等待发送超过 {minutes} 分钟:{names}",
)
DELIVERIES_WAIT_FIX: Final = Fix(
    Message(
        "horae deliveries ls --state pending shows their problems; without one, no host of agents runs",
        "horae deliveries ls --state pending 显示其问题;若没有问题,则没有运行中的智能体主机",
    ),
    "horae deliveries ls --state pending",
)
DELIVERIES_FAILED: Final = Message(
    "{number} texts to chats failed in the last day: {names}", "最近一天有 {number} 条发往聊天的文本失败:{names}"
)
DELIVERIES_FAILED_FIX: Final = Fix(
    Message(
        "horae deliveries ls --state failed shows why; horae deliveries retry ID sends one again",
        "horae deliveries ls --state failed 显示原因;horae deliveries retry ID 可重新发送",
    ),
    "horae deliveries ls --state failed",
)
TARGETS_REFUSED: Final = Message(
    "{number} tasks have a target that the node does not allow: {names}",
    "{number} 个任务的目标不被节点允许:{names}",
)
TARGETS_REFUSED_FIX: Final = Fix(
    Message(
        "horae why TASK says what to set where the node runs; then restart the node",
        "horae why 任务 说明要在节点处设置什么;然后重新启动节点",
    ),
    "horae why TASK",
)
LANES_FINE: Final = Message("Lanes: {number}, none closed", "{number} 个通道,均未关闭")
LANES_CLOSED: Final = Message("Lanes with limit 0 start nothing: {names}", "上限为 0 的通道不会启动任何任务:{names}")
TASKS_FINE: Final = Message("{number} tasks, none needs you", "{number} 个任务,均无需处理")
TASKS_FAILED: Final = Message("{number} tasks have given up: {names}", "{number} 个任务已放弃:{names}")
ONCE_FAILED_FIX: Final = Fix(
    Message("horae why TASK, then horae retry TASK", "horae why 任务,再 horae retry 任务"), "horae why TASK"
)
MIXED_FAILED_FIX: Final = Fix(
    Message(
        "horae why TASK, then horae resume TASK; a task that runs once: horae retry TASK",
        "horae why 任务,再 horae resume 任务;只运行一次的任务:horae retry 任务",
    ),
    "horae why TASK",
)
TASKS_FAILED_FIX: Final = Fix(
    Message("horae why TASK, then horae resume TASK", "horae why 任务,再 horae resume 任务"), "horae why TASK"
)
TASKS_FAILING: Final = Message(
    "{number} active tasks failed last time: {names}", "{number} 个活动任务上次运行失败:{names}"
)
TASKS_FAILING_FIX: Final = Fix(Message("horae why TASK", "horae why 任务"), "horae why TASK")
APPROVALS_WAIT: Final = Message(
    "{number} tasks of agents wait for approval: {names}", "{number} 个智能体的任务等待批准:{names}"
)
APPROVALS_FIX: Final = Fix(
    Message("horae ls --state paused, then horae approve TASK", "horae ls --state paused,再 horae approve 任务"),
    "horae ls --state paused",
)
TASKS_ORPHANED: Final = Message(
    "{number} tasks lost the code that declared them: {names}", "{number} 个任务失去了声明它们的代码:{names}"
)
OWNERS_BLOCKED: Final = Message(
    "{number} owners have active tasks that do not fire, because they are revoked or viewers: {names}",
    "{number} 个所有者已停用或为查看者,其活动任务不会触发:{names}",
)
OWNERS_BLOCKED_FIX: Final = Fix(
    Message(
        "horae owner restore NAME, or horae owner set NAME --role member",
        "horae owner restore 名称,或 horae owner set 名称 --role member",
    )
)
TASKS_ORPHANED_FIX: Final = Fix(
    Message("horae up FILE.py, or horae rm TASK", "horae up 文件.py,或 horae rm 任务"), "horae up FILE.py"
)
KEY_FINE: Final = Message(
    "Secrets: {number} sealed, key {path} is yours alone", "机密:{number} 个,密钥 {path} 仅本人可读"
)
KEY_NONE: Final = Message("Secrets: none kept", "机密:没有")
KEY_MISSING: Final = Message(
    "{number} secrets are sealed, but the key {path} is not there", "有 {number} 个机密,但密钥 {path} 不存在"
)
KEY_NOT_NAMED: Final = Message(
    "{number} secrets are sealed, but no key is named here", "有 {number} 个机密,但此处没有指明密钥"
)
KEY_NOT_NAMED_FIX: Final = Fix(
    Message(
        "set HORAE_KEY_FILE to this machine's copy of the key that all nodes share",
        "用 HORAE_KEY_FILE 指明本机上所有节点共用的密钥副本",
    )
)
KEY_MISSING_FIX: Final = Fix(
    Message("bring the key file back, or set the secrets again", "恢复密钥文件,或重新设置机密")
)
DISK_FINE: Final = Message("{free} free on the disk of the store", "存储所在磁盘剩余 {free}")
DISK_LOW: Final = Message("Only {free} free on the disk of the store", "存储所在磁盘仅剩 {free}")
DISK_FIX: Final = Fix(Message("make room, or move the store", "清理空间,或移动存储"))
LIBRARIES: Final = Message("Optional libraries: {present}{absent}", "可选库:{present}{absent}")
ABSENT: Final = Message("; not installed: {names}", ";未安装:{names}")
LIBRARIES_FIX: Final = Fix(Message("pip install 'horae[all]'", "pip install 'horae[all]'"), "pip install 'horae[all]'")
