"""Settings table and loader. Precedence: flag, environment variable, `horae.toml`, the user's file, default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

Origin = Literal["flag", "environment", "machine", "nowhere"]

_ZONE_VARIABLES = ("HORAE_ZONE", "TIMEZONE", "TZ")
PROJECT_FILE: Final = "horae.toml"
WAKE_VARIABLE: Final = "HORAE_WAKE"


@dataclass(frozen=True, slots=True)
class DefaultZone:
    """Time zone for schedules that name none, and its source, which answers echo so that no zone is assumed silently."""

    name: str
    origin: Origin
    source: str


def default_zone(
    flag: str | None, environment: Mapping[str, str], localtime: Path = Path("/etc/localtime")
) -> DefaultZone:
    """Return the zone of the flag, else of the environment, else of the machine, else UTC."""
    if flag:
        return DefaultZone(flag, "flag", "--zone")
    for variable in _ZONE_VARIABLES:
        value = environment.get(variable, "").strip().removeprefix(":")
        named = value.partition("/zoneinfo/")[2] if value.startswith("/") else value
        if named:
            return DefaultZone(named.removeprefix("posix/"), "environment", variable)
    machine = _machine_zone(localtime)
    if machine is not None:
        return DefaultZone("UTC" if machine == "Etc/UTC" else machine, "machine", str(localtime))
    return DefaultZone("UTC", "nowhere", "")


def _machine_zone(localtime: Path) -> str | None:
    """Return the zone that `/etc/localtime` links to; None where it is no link into a zoneinfo directory."""
    if not localtime.is_symlink():
        return None
    _, separator, name = str(localtime.resolve()).partition("/zoneinfo/")
    return name.removeprefix("posix/") if separator else None


class Setting(NamedTuple):
    """One setting: its path in a TOML file, its environment variables, the kind of its value, its default and meaning."""

    path: str
    variables: tuple[str, ...]
    kind: Literal["text", "list"]
    default: Any
    meaning: str
    meaning_zh: str


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "store",
        ("HORAE_STORE",),
        "text",
        None,
        "Where tasks are kept: sqlite:///file.db, postgresql://…, mysql://…, redis://…",
        "任务的存储位置:sqlite:///文件.db、postgresql://…、mysql://…、redis://…",
    ),
    Setting(
        "zone", _ZONE_VARIABLES, "text", None, "The zone where a schedule names none", "计划未指明时区时使用的时区"
    ),
    Setting(
        "wake",
        (WAKE_VARIABLE,),
        "text",
        "precise",
        "precise: sleep to the next due instant; poll: look every ten seconds",
        "precise:睡到下一个到期时刻;poll:每十秒查看一次",
    ),
    Setting(
        "clock_tolerance",
        ("HORAE_CLOCK_TOLERANCE",),
        "text",
        "60s",
        "How far a machine's clock may be from the store's when a node starts there",
        "节点启动时,本机时钟与存储时钟允许的最大偏差",
    ),
    Setting(
        "node_labels",
        ("HORAE_NODE_LABELS",),
        "list",
        (),
        "Labels of the node, which tasks may require, such as gpu=a100",
        "节点的标签,任务可以要求它们,例如 gpu=a100",
    ),
    Setting(
        "require_durable",
        ("HORAE_REQUIRE_DURABLE",),
        "text",
        "no",
        "yes: no node starts on a store that can lose what it has acknowledged",
        "yes:存储可能丢失已确认的数据时,节点拒绝启动",
    ),
    Setting(
        "node_name",
        ("HORAE_NODE_NAME",),
        "text",
        None,
        "Stable name of the node, its label node; by default that of the machine",
        "节点的固定名称,即标签 node;默认为机器名",
    ),
    Setting(
        "output", ("HORAE_OUTPUT",), "text", "text", "json: every command answers in JSON", "json:所有命令以 JSON 输出"
    ),
    Setting(
        "key_file", ("HORAE_KEY_FILE",), "text", None, "File with the key that encrypts secrets", "加密机密的密钥文件"
    ),
    Setting(
        "overdue_grace",
        ("HORAE_OVERDUE_GRACE",),
        "text",
        "60s",
        "Time after which a due occurrence that has not started raises task.overdue",
        "到期后超过此时长仍未开始即发出 task.overdue",
    ),
    Setting(
        "ping_url",
        ("HORAE_PING_URL",),
        "text",
        None,
        "URL that the node requests regularly while its engine is alive and on time",
        "节点正常且准时期间定期请求的地址",
    ),
    Setting(
        "ping_every",
        ("HORAE_PING_EVERY",),
        "text",
        "60s",
        "Interval between two requests of ping_url",
        "请求该地址的间隔",
    ),
    Setting(
        "outgoing_networks",
        ("HORAE_OUTGOING_NETWORKS",),
        "list",
        (),
        "Private networks that HTTP tasks, webhooks and the heartbeat may call, such as 10.0.0.0/8",
        "HTTP 任务、webhook 和心跳可以访问的私有网络,例如 10.0.0.0/8",
    ),
    Setting(
        "notify_host_schemas",
        ("HORAE_NOTIFY_HOST_SCHEMAS",),
        "list",
        (),
        "Services of messages that act on the node's machine and are allowed, such as syslog or dbus",
        "允许使用的、会作用于节点所在机器的消息服务,例如 syslog 或 dbus",
    ),
    Setting(
        "api",
        ("HORAE_API",),
        "text",
        "on",
        "off: `horae up` runs the engine alone, without the HTTP API",
        "off：`horae up` 只运行节点,不提供 HTTP 接口",
    ),
    Setting(
        "host",
        ("HORAE_HOST",),
        "text",
        "127.0.0.1",
        "The address that the HTTP API listens on",
        "HTTP 接口监听的地址",
    ),
    Setting("port", ("HORAE_PORT",), "text", "4672", "The port that the HTTP API listens on", "HTTP 接口监听的端口"),
    Setting(
        "plain_http",
        ("HORAE_PLAIN_HTTP",),
        "text",
        "off",
        "on: commands may go to a server of another machine without encryption, http://",
        "on:命令可以不加密(http://)访问其他机器上的服务器",
    ),
    Setting(
        "rate_limit",
        ("HORAE_RATE_LIMIT",),
        "text",
        "600",
        "How many requests an owner may send in a minute, all its tokens together; off: no limit",
        "每个所有者(所有令牌合计)每分钟的请求上限;off 表示不限",
    ),
    Setting(
        "body_timeout",
        ("HORAE_BODY_TIMEOUT",),
        "text",
        "30s",
        "How long the body of a request may take to arrive; then it is answered with 408",
        "请求体到达的最长时间;超时则以 408 应答",
    ),
    Setting(
        "event_streams",
        ("HORAE_EVENT_STREAMS",),
        "text",
        "2000",
        "How many event streams the HTTP API serves at once; never more than half of the files that it may open",
        "HTTP 接口同时提供的事件流上限;不会超过其可打开文件数的一半",
    ),
    Setting(
        "origins",
        ("HORAE_ORIGINS",),
        "list",
        (),
        "Pages of these origins may call the HTTP API from a browser, such as https://ops.example.org",
        "允许从浏览器访问 HTTP 接口的来源,例如 https://ops.example.org",
    ),
    Setting(
        "trusted_proxies",
        ("HORAE_TRUSTED_PROXIES",),
        "list",
        (),
        "Networks of proxies and routers whose X-Forwarded-For and -Proto are believed; unix: those at the unix socket",
        "受信任的代理和路由器所在的网络，采信其 X-Forwarded-For 和 -Proto；unix 表示来自 unix 套接字的连接",
    ),
    Setting(
        "metrics",
        ("HORAE_METRICS",),
        "text",
        "local",
        "Who may read /metrics: local (this machine, or an admin's token), token (a token always), open, off",
        "谁可以读取 /metrics：local(本机或管理员令牌)、token(始终需要令牌)、open、off",
    ),
    Setting(
        "metrics_port",
        ("HORAE_METRICS_PORT",),
        "text",
        None,
        "Port for a node's own metrics, for `horae worker` and `horae up --no-api`; off by default",
        "节点显示自身指标的端口,用于 `horae worker` 和 `horae up --no-api`;默认不显示",
    ),
    Setting(
        "metrics_host",
        ("HORAE_METRICS_HOST",),
        "text",
        "127.0.0.1",
        "Address for a node's own metrics",
        "节点自身指标监听的地址",
    ),
    Setting(
        "log",
        ("HORAE_LOG",),
        "text",
        "text",
        "How `horae up` and `horae worker` log to standard error: text or json",
        "`horae up` 和 `horae worker` 写到标准错误的日志格式:text 或 json",
    ),
    Setting(
        "log_file",
        ("HORAE_LOG_FILE",),
        "text",
        None,
        "A file that receives the log lines too, beside standard error; log rotation is noticed",
        "除标准错误外,同时写入日志的文件;可识别日志轮转",
    ),
    Setting(
        "log_level",
        ("HORAE_LOG_LEVEL",),
        "text",
        "warning",
        "From which level on: debug, info, warning, error",
        "日志的最低级别:debug、info、warning、error",
    ),
    Setting(
        "run_log_bytes",
        ("HORAE_RUN_LOG_BYTES",),
        "text",
        "16777216",
        "Bytes of the log lines that are kept of one run, of at most 100,000 lines; the first lines stay",
        "每次运行保留的日志字节数,最多 100,000 行;保留最前面的行",
    ),
    Setting(
        "message_keep",
        ("HORAE_MESSAGE_KEEP",),
        "text",
        "100000",
        "Messages that a stream keeps at most, read or not; the oldest go first",
        "每个消息流最多保留的消息数，无论是否已读；最旧的先删除",
    ),
    Setting(
        "message_keep_for",
        ("HORAE_MESSAGE_KEEP_FOR",),
        "text",
        "90d",
        "Age at which messages are removed, read or not",
        "消息达到此时长后删除，无论是否已读",
    ),
    Setting(
        "message_keep_read_for",
        ("HORAE_MESSAGE_KEEP_READ_FOR",),
        "text",
        "1d",
        "Time for which messages stay that every reader has handled",
        "所有读取者都已处理的消息再保留的时长",
    ),
    Setting(
        "quota_min_interval",
        ("HORAE_QUOTA_MIN_INTERVAL", "SCHEDULED_TASK_INTERVAL_MIN_SECONDS"),
        "text",
        "10s",
        "Shortest interval between two runs of a task whose owner is no admin",
        "普通所有者的任务两次运行之间的最小间隔",
    ),
    Setting(
        "quota_active_tasks",
        ("HORAE_QUOTA_ACTIVE_TASKS", "SCHEDULED_TASKS_MAX_ENABLED_PER_USER"),
        "text",
        "20",
        "Number of active tasks that an owner without the admin role may have",
        "普通所有者最多可以有的活动任务数",
    ),
    Setting(
        "agent_functions",
        ("HORAE_AGENT_FUNCTIONS",),
        "list",
        (),
        "Functions that agents may schedule without approval, by name; * for all",
        "智能体无需批准即可调度的函数,按名称列出;* 表示全部",
    ),
    Setting(
        "agent_depth",
        ("HORAE_AGENT_DEPTH",),
        "text",
        "3",
        "Most tasks that runs of agents make one after the other",
        "智能体的运行依次创建任务的最大层数",
    ),
    Setting(
        "orchestrator_url",
        ("HORAE_ORCHESTRATOR_URL", "ORCHESTRATOR_URL"),
        "text",
        None,
        "URL that tasks made at /scheduled-tasks call",
        "通过 /scheduled-tasks 创建的任务所调用的地址",
    ),
    Setting(
        "plan_exec_timeout",
        ("HORAE_PLAN_EXEC_TIMEOUT", "PLAN_EXEC_TIMEOUT"),
        "text",
        "300",
        "Seconds after which an execution of a plan has timed out, or a duration such as 5m",
        "计划的一次执行超时的秒数,或 5m 这样的时长",
    ),
    Setting(
        "plan_owner",
        ("HORAE_PLAN_OWNER",),
        "text",
        None,
        "Owner of plans that other programs write into Redis, by default the owner of the node",
        "其他程序写入 Redis 的计划归谁所有，默认为节点的所有者",
    ),
    Setting(
        "redis_addr",
        ("HORAE_REDIS_ADDR",),
        "text",
        None,
        "Address of Redis as Zero writes it, such as 127.0.0.1:6379: the store, where no store is set",
        "Redis 地址(与 Zero 相同,例如 127.0.0.1:6379):未设置存储时作为存储",
    ),
    Setting(
        "redis_defdb",
        ("HORAE_REDIS_DEFDB",),
        "text",
        None,
        "Number of the database in Redis that redis_addr names; Zero's own is 17",
        "redis_addr 所用的 Redis 数据库编号;Zero 默认为 17",
    ),
    Setting(
        "console_url",
        ("HORAE_CONSOLE_URL",),
        "text",
        None,
        "Address of the console for browsers, such as https://horae.example.org/console; needed for oidc behind a proxy",
        "浏览器访问控制台的地址,例如 https://horae.example.org/console;在代理之后使用 oidc 时需要",
    ),
    Setting(
        "oidc_issuer",
        ("HORAE_OIDC_ISSUER",),
        "text",
        None,
        "Issuer of an OpenID Connect provider, for signing in to the console: https://id.example.org",
        "用于登录控制台的 OpenID Connect 提供方的 issuer:https://id.example.org",
    ),
    Setting(
        "oidc_client_id",
        ("HORAE_OIDC_CLIENT_ID",),
        "text",
        None,
        "Client id of Horae at the provider",
        "Horae 在提供方处的客户端标识",
    ),
    Setting(
        "oidc_client_secret_file",
        ("HORAE_OIDC_CLIENT_SECRET_FILE",),
        "text",
        None,
        "File with the client secret; neither file nor name: a public client",
        "存放客户端密钥的文件;文件和名称都没有时为公共客户端",
    ),
    Setting(
        "oidc_client_secret",
        ("HORAE_OIDC_CLIENT_SECRET",),
        "text",
        None,
        "Name of the secret of the owner local that holds the client secret",
        "存放客户端密钥的机密名称,属于所有者 local",
    ),
    Setting(
        "oidc_scopes",
        ("HORAE_OIDC_SCOPES",),
        "text",
        "openid email profile",
        "Scopes that are requested at the provider",
        "向提供方请求的范围",
    ),
    Setting(
        "oidc_name",
        ("HORAE_OIDC_NAME",),
        "text",
        None,
        "Name of the provider on the sign-in page; its host by default",
        "登录页上显示的提供方名称;默认为其主机名",
    ),
    Setting(
        "oidc_owner_claim",
        ("HORAE_OIDC_OWNER_CLAIM",),
        "text",
        "email",
        "Claim that is the name of the owner; email has to be verified",
        "作为所有者名称的声明;email 必须经过验证",
    ),
    Setting(
        "oidc_role_claim",
        ("HORAE_OIDC_ROLE_CLAIM",),
        "text",
        "groups",
        "Claim whose values oidc_roles maps to roles; dots lead into nested claims",
        "其值由 oidc_roles 映射为角色的声明;可用点号进入嵌套的声明",
    ),
    Setting(
        "oidc_roles",
        ("HORAE_OIDC_ROLES",),
        "list",
        (),
        "Roles by value of that claim: ops=admin, staff=member, *=viewer; no match: refused; empty: all are members",
        "按该声明的值分配角色:ops=admin、staff=member、*=viewer;无匹配则不能登录;为空时均为 member",
    ),
    Setting(
        "oidc_domains",
        ("HORAE_OIDC_DOMAINS",),
        "list",
        (),
        "Domains whose verified addresses may sign in; empty: all",
        "允许登录的已验证地址的域名;为空表示全部",
    ),
    Setting(
        "oidc_new_owners",
        ("HORAE_OIDC_NEW_OWNERS",),
        "text",
        "refuse",
        "refuse: only owners that exist sign in; create: others are created with the mapped role",
        "refuse:只有已存在的所有者可以登录;create:其他的以映射的角色创建",
    ),
    Setting(
        "targets.command.allow",
        ("HORAE_COMMAND_ALLOW",),
        "list",
        (),
        "Programs that command targets may run; * allows all",
        "命令目标可以运行的程序;* 表示全部允许",
    ),
    Setting(
        "targets.command.directory", ("HORAE_COMMAND_DIRECTORY",), "text", None, "Where commands run", "命令的工作目录"
    ),
    Setting(
        "targets.command.variables",
        ("HORAE_COMMAND_VARIABLES",),
        "list",
        (),
        "Reserved variables that tasks may set for commands all the same, such as HOME",
        "任务仍可为命令设置的保留变量,例如 HOME",
    ),
    Setting(
        "targets.http.allow_networks",
        ("HORAE_HTTP_ALLOW_NETWORKS",),
        "list",
        (),
        "Older name: networks for HTTP tasks only; outgoing_networks applies to all outgoing calls",
        "旧名称:仅用于 HTTP 任务的网络;outgoing_networks 对全部生效",
    ),
    Setting(
        "targets.http.callback_url",
        ("HORAE_HTTP_CALLBACK_URL",),
        "text",
        None,
        "Where targets that answer 202 report back to",
        "以 202 应答的目标回报结果的地址",
    ),
    Setting(
        "targets.http.default_agent",
        ("HORAE_HTTP_DEFAULT_AGENT", "SCHEDULER_DEFAULT_AGENT", "OPENCLAW_DEFAULT_AGENT"),
        "text",
        None,
        "The agent that the orchestrator preset asks for",
        "orchestrator 预设的默认智能体",
    ),
    Setting(
        "targets.http.mode",
        ("HORAE_HTTP_MODE", "SCHEDULER_ROUTER_MODE", "ROUTER_MODE"),
        "text",
        None,
        "The routing mode that the orchestrator preset asks for",
        "orchestrator 预设的路由模式",
    ),
    Setting(
        "targets.event.redis",
        ("HORAE_EVENT_REDIS",),
        "text",
        None,
        "Redis that events are published to",
        "发布事件的 Redis 地址",
    ),
    Setting(
        "targets.event.channel",
        ("HORAE_EVENT_CHANNEL",),
        "text",
        None,
        "The Redis channel for events",
        "事件的 Redis 频道",
    ),
    Setting(
        "targets.station.listen",
        ("HORAE_STATION_LISTEN",),
        "text",
        None,
        "Address where stations connect, tcp://127.0.0.1:4674 by default; for `horae up --stations`",
        "站点连接的地址,默认为 tcp://127.0.0.1:4674;用于 `horae up --stations`",
    ),
    Setting(
        "targets.station.publish",
        ("HORAE_STATION_PUBLISH",),
        "text",
        None,
        "Address where stations subscribe to results, tcp://127.0.0.1:4675 by default",
        "站点订阅结果的地址,默认为 tcp://127.0.0.1:4675",
    ),
    Setting(
        "targets.station.directory",
        ("HORAE_STATION_DIRECTORY",),
        "text",
        None,
        "Directory of the node's key for stations; by default `stations` beside the SQLite file",
        "节点的站点密钥所在目录,默认为 SQLite 文件旁的 `stations`",
    ),
    Setting(
        "delivery_uncertain",
        ("HORAE_DELIVERY_UNCERTAIN",),
        "text",
        "repeat",
        "Text for a chat that a service did not confirm: repeat (it may appear twice) or fail (it may be missing)",
        "聊天服务未确认的文本：repeat(重发,可能重复)或 fail(不再发送,可能缺失)",
    ),
    Setting(
        "targets.event.webhook",
        ("HORAE_EVENT_WEBHOOK",),
        "text",
        None,
        "URL that events are posted to",
        "事件投递的地址",
    ),
)
_BY_PATH: Final = {setting.path: setting for setting in SETTINGS}
_TABLES: Final = ("targets", "channels", "deployments")
_OWNERS: Final = "owners"
"""The table of owners and their deployments: its names are those of owners, with dots."""


class SettingValue(NamedTuple):
    """Value of a setting and its origin: `flag`, the name of a variable, or the path of a file."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that differ from their defaults, by path; includes the tables `[targets.…]` and `[channels.…]`."""

    overrides: Mapping[str, SettingValue]

    def value(self, path: str) -> Any:
        """Return the chosen value, else the default of the setting."""
        chosen = self.overrides.get(path)
        return _BY_PATH[path].default if chosen is None else chosen.value

    def with_flag(self, path: str, value: Any) -> Settings:
        """Return these settings with one more value, as given by an option."""
        return Settings({**self.overrides, path: SettingValue(value, "flag")})

    def target(self, kind: str) -> dict[str, Any]:
        """Return the chosen settings of one kind of target, without defaults."""
        return self._table(f"targets.{kind}.")

    def channel(self, name: str) -> dict[str, Any]:
        """Return the settings of one chat channel, the table `[channels.NAME]`."""
        return self._table(f"channels.{name}.")

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the chat channels that have a table."""
        paths = (path.split(".") for path in self.overrides if path.startswith("channels."))
        return tuple(sorted({parts[1] for parts in paths}))

    @property
    def deployments(self) -> dict[str, dict[str, Any]]:
        """Settings of each deployment, the tables `[deployments.NAME]`."""
        paths = (path.split(".") for path in self.overrides if path.startswith("deployments."))
        return {name: self._table(f"deployments.{name}.") for name in sorted({parts[1] for parts in paths})}

    @property
    def owner_map(self) -> dict[str, Any]:
        """Names of deployments by owner, the table `[owners]`."""
        return self._table(f"{_OWNERS}.")

    def _table(self, prefix: str) -> dict[str, Any]:
        return {
            path.removeprefix(prefix): each.value for path, each in self.overrides.items() if path.startswith(prefix)
        }


class BadSettings(Exception):  # noqa: N818 - the name says what is bad
    """Settings file that cannot be used; the composition root turns this into a refusal."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        self.problem = problem
        super().__init__(f"{file}: {problem}")


def read_settings(
    environment: Mapping[str, str], files: tuple[Path, ...] = (), flags: Mapping[str, Any] | None = None
) -> Settings:
    """Merge files, environment and flags, later ones winning.

    `files` go from the lowest to the highest precedence; a missing file is skipped. Raises `BadSettings`.
    """
    chosen: dict[str, SettingValue] = {}
    for file in files:
        chosen |= {path: SettingValue(value, str(file)) for path, value in _read_file(file).items()}
    for setting in SETTINGS:
        for variable in setting.variables:
            value = environment.get(variable, "").strip()
            if value:
                chosen[setting.path] = SettingValue(_parse_value(setting, value), variable)
                break
    for path, value in (flags or {}).items():
        if value is not None:
            chosen[path] = SettingValue(value, "flag")
    return Settings(chosen)


def _parse_value(setting: Setting, value: str) -> Any:
    if setting.kind == "list":
        return tuple(part.strip() for part in value.replace(";", ",").split(",") if part.strip())
    return value


def _read_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(str(file), str(error)) from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(str(file), str(error)) from error
    return dict(_flatten_table(file, table))


def _flatten_table(file: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a TOML table to values by path. Unknown names are refused; those of targets and channels are checked by their kinds."""
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name in _TABLES and isinstance(value, Mapping):
            for kind, part in value.items():
                if not isinstance(part, Mapping) or "." in kind:
                    raise BadSettings(str(file), f"[{name}.{kind}] must be a table")
                values |= {f"{name}.{kind}.{key}": each for key, each in part.items()}
        elif name == _OWNERS and isinstance(value, Mapping):
            values |= {f"{_OWNERS}.{owner}": each for owner, each in value.items()}
        elif name in _BY_PATH and _BY_PATH[name].kind == "list" and isinstance(value, list):
            values[name] = tuple(value)
        elif name in _BY_PATH and _BY_PATH[name].kind == "list" and isinstance(value, str):
            values[name] = _parse_value(_BY_PATH[name], value)
        elif name in _BY_PATH:
            values[name] = _render_text(file, name, value)
        else:
            known = ", ".join(path for path in _BY_PATH if "." not in path)
            raise BadSettings(
                str(file),
                f"{name!r} is not a setting; the settings are {known}, [targets.…], [channels.…], [deployments.…] and [owners]",
            )
    return values


def _render_text(file: Path, name: str, value: object) -> str:
    """Return a TOML value as the text that an environment variable would hold: numbers and booleans are accepted too."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    raise BadSettings(str(file), f"{name} must be a text, not {value!r}")


OUTPUTS: Final = ("text", "json")
WAKES: Final = ("precise", "poll")


def is_precise_wake(settings: Settings, environment: Mapping[str, str]) -> bool | None:
    """Return whether the node sleeps to the next due instant (True) or polls (False).

    The source is `HORAE_WAKE`, its legacy name `USE_PRIORITY_QUEUE_SCHEDULER`, or a file; None for an unknown value.
    """
    chosen = settings.overrides.get("wake")
    legacy = environment.get("USE_PRIORITY_QUEUE_SCHEDULER", "").strip().lower()
    if legacy and (chosen is None or chosen.origin not in (WAKE_VARIABLE, "flag")):
        return legacy not in ("false", "0", "no", "off")
    mode = str(settings.value("wake")).strip().lower()
    return mode == "precise" if mode in WAKES else None
