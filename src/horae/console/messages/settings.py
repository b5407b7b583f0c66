"""Texts of the settings: profile, owners, tokens, webhooks, secrets, sessions, doctor and about."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "settings_profile": Message("Profile", "个人资料"),
    "settings_owners": Message("Owners", "所有者"),
    "settings_tokens": Message("Tokens", "令牌"),
    "settings_webhooks": Message("Webhooks", "Webhook"),
    "settings_messages": Message("Messages", "消息"),
    "settings_secrets": Message("Secrets", "机密"),
    "settings_sessions": Message("Sessions", "会话"),
    "settings_doctor": Message("Doctor", "诊断"),
    "settings_about": Message("About", "关于"),
    # --- words of several tabs ---------------------------------------------------------------------------------------
    "settings_role": Message("Role", "角色"),
    "settings_role_admin": Message("admin", "管理员"),
    "settings_role_member": Message("member", "成员"),
    "settings_role_viewer": Message("viewer", "只读"),
    "settings_scopes": Message("Scopes", "权限"),
    "settings_quotas": Message("Quotas", "配额"),
    "settings_note": Message("Note", "备注"),
    "settings_created": Message("Created", "创建时间"),
    "settings_updated": Message("Changed", "更改时间"),
    "settings_revoke": Message("Revoke", "作废"),
    "settings_restore": Message("Restore", "恢复"),
    "settings_never": Message("never", "永不"),
    "settings_shown_once": Message("Copy it now: it is shown only once.", "请立即复制:只显示这一次。"),
    # --- profile -----------------------------------------------------------------------------------------------------
    "settings_account": Message("Account", "账户"),
    "settings_zone_hint": Message(
        "Schedules that name no zone use it, and pages show times in it. Empty: the zone of the server, {zone}.",
        "未指定时区的计划使用此时区,页面也按此时区显示时间。留空则使用服务器时区 {zone}。",
    ),
    "settings_browser_only": Message(
        "Zone and language are stored in your account, the theme in this browser.",
        "时区和语言保存在您的账户中,主题保存在此浏览器中。",
    ),
    "settings_language_of_browser": Message("Language of the browser", "浏览器的语言"),
    "settings_no_quotas": Message("No limits.", "没有限制。"),
    "settings_profile_saved": Message("Your profile is saved.", "个人资料已保存。"),
    # --- owners ------------------------------------------------------------------------------------------------------
    "settings_owner_new": Message("New owner", "新建所有者"),
    "settings_owner_made": Message(
        "The owner {owner} is created. A token lets it sign in.", "已创建所有者 {owner}。为其创建令牌即可登录。"
    ),
    "settings_owner_saved": Message("The owner {owner} is saved.", "所有者 {owner} 已保存。"),
    "settings_owner_is_revoked": Message(
        "{owner} is revoked: its tasks do not run, and its tokens are refused.",
        "{owner} 已作废:其任务不再运行,其令牌被拒绝。",
    ),
    "settings_owner_is_restored": Message("{owner} is restored.", "{owner} 已恢复。"),
    "settings_owner_revoked": Message("revoked", "已作废"),
    "settings_owner_active": Message("active", "正常"),
    "settings_owner_exhausted": Message("runs of the day used up", "当日运行次数已用完"),
    "settings_owner_storage_full": Message("storage full", "存储已满"),
    "settings_owner_name_hint": Message(
        "Letters, digits and . _ : @ -, at most 100 characters. It cannot be changed later.",
        "字母、数字及 . _ : @ -,最多 100 个字符。之后不能更改。",
    ),
    "settings_role_about": Message(
        "An admin sees and changes everything, a member its own tasks, a viewer only reads: its tasks do not run.",
        "管理员可查看和更改一切;成员仅限自己的任务;只读角色只能查看,其任务不会运行。",
    ),
    "settings_zone_server": Message("zone of the server", "服务器时区"),
    "settings_quota_count": Message("{number} chosen", "单独设置 {number} 项"),
    "settings_quota_usual": Message("default", "默认"),
    "settings_revoke_about": Message(
        "Revoking stops all tasks and tokens of an owner; its data stays, and restoring undoes it.",
        "作废会停止该所有者的全部任务和令牌;数据保留,恢复即可撤销。",
    ),
    "settings_owner_viewer": Message("read-only", "只读"),
    # --- tokens ------------------------------------------------------------------------------------------------------
    "settings_token_make": Message("Make a token", "创建令牌"),
    "settings_token_made": Message("The new token", "新令牌"),
    "settings_token_kept": Message("I have saved it", "我已保存"),
    "settings_token_agent": Message("Agent", "智能体"),
    "settings_token_agent_hint": Message(
        "With the name of an agent, the token acts as that agent: it sees only its own tasks, and they wait for approval.",
        "填写智能体名称后,令牌以该智能体的身份行动:只能看到自己的任务,且任务需要批准。",
    ),
    "settings_token_expires": Message("Expires", "到期日"),
    "settings_token_used": Message("used by this browser", "此浏览器正在使用"),
    "settings_token_valid": Message("valid", "有效"),
    "settings_token_expired": Message("expired", "已过期"),
    "settings_token_revoked": Message("revoked", "已作废"),
    "settings_token_revoke_about": Message(
        "Programs and browsers that use it are signed out within a second. This cannot be undone.",
        "使用它的程序和浏览器将在一秒内退出登录。此操作无法撤销。",
    ),
    "settings_scope_read": Message("read", "查看"),
    "settings_scope_write": Message("create and change", "创建和更改"),
    "settings_scope_run": Message("run now, retry, cancel", "立即运行、重试、取消"),
    "settings_scope_admin": Message("administer everything", "管理全部"),
    "settings_token_is_revoked": Message("The token {token} is revoked.", "令牌 {token} 已作废。"),
    # --- webhooks ----------------------------------------------------------------------------------------------------
    "settings_webhook_url": Message("URL", "地址"),
    "settings_webhook_types": Message("Events", "事件"),
    "settings_webhook_types_hint": Message(
        "Types or patterns such as run.failed or task.*, separated by spaces. Empty: all events.",
        "类型或模式,如 run.failed 或 task.*,以空格分隔。留空表示全部事件。",
    ),
    "settings_webhook_all": Message("all events", "全部事件"),
    "settings_webhook_none": Message(
        "No webhook yet. One is called whenever an event of your tasks happens:",
        "还没有 Webhook。每当您的任务发生事件时,它就会被调用:",
    ),
    "settings_webhook_new": Message("Create a webhook", "创建 Webhook"),
    "settings_webhook_secret": Message("The signing secret", "签名密钥"),
    "settings_webhook_secret_about": Message(
        "Receivers check with it that a message comes from here (Standard Webhooks). A former secret also signs for a day.",
        "接收方用它验证消息确实来自这里(Standard Webhooks)。旧密钥在一天内仍会同时签名。",
    ),
    "settings_webhook_saved": Message("The webhook is saved.", "Webhook 已保存。"),
    "settings_webhook_enabled": Message("The webhook receives events from now on.", "Webhook 从现在起接收事件。"),
    "settings_webhook_disabled": Message("The webhook receives nothing more.", "Webhook 不再接收事件。"),
    "settings_webhook_removed": Message("The webhook to {host} is deleted.", "发往 {host} 的 Webhook 已删除。"),
    "settings_webhook_answered": Message("Delivered. The receiver answered: {answer}", "已送达。接收方回复:{answer}"),
    "settings_webhook_unanswered": Message("Not delivered: {answer}", "未送达:{answer}"),
    "settings_webhook_on": Message("enabled", "启用"),
    "settings_webhook_failing": Message("failing", "失败中"),
    "settings_webhook_failing_since": Message("Deliveries fail without a break since", "投递持续失败,开始于"),
    "settings_webhook_blocked": Message("blocked", "被阻止"),
    "settings_webhook_off_requested": Message("disabled", "已停用"),
    "settings_webhook_off_gone": Message("disabled: the receiver answered 410", "已停用:接收方回复 410"),
    "settings_webhook_off_failing": Message("disabled after five days of failure", "连续失败五天后已停用"),
    "settings_webhook_off_backlog": Message("disabled: the receiver is too slow", "已停用:接收方太慢"),
    "settings_webhook_test": Message("Send a test", "发送测试"),
    "settings_webhook_enable": Message("Enable", "启用"),
    "settings_webhook_disable": Message("Disable", "停用"),
    "settings_webhook_rotate": Message("New secret", "更换密钥"),
    "settings_webhook_remove_about": Message(
        "The webhook, its secrets and its deliveries are deleted for good.", "Webhook 及其密钥和投递记录将被永久删除。"
    ),
    "settings_deliveries": Message("Last deliveries", "最近的投递"),
    "settings_deliveries_none": Message("Nothing was sent in the last seven days.", "最近七天没有发送过。"),
    "settings_delivery_event": Message("Event", "事件"),
    "settings_delivery_attempts": Message("Attempts", "尝试"),
    "settings_delivery_tried": Message("{number} times", "{number} 次"),
    "settings_delivery_untried": Message("not yet", "尚未"),
    "settings_delivery_next": Message("Next attempt", "下次尝试"),
    "settings_delivery_pending": Message("pending", "待投递"),
    "settings_delivery_delivered": Message("delivered", "已送达"),
    "settings_delivery_failed": Message("failed", "失败"),
    "settings_redeliver": Message("Send again", "重新发送"),
    # --- secrets -----------------------------------------------------------------------------------------------------
    "settings_messages_about": Message(
        "Where messages to people go. Tasks name a destination in their policy notify; its URL is stored encrypted and never shown.",
        "消息发往何处。任务在 notify 策略中写明目的地;其 URL 加密保存,从不显示。",
    ),
    "settings_destination_service": Message("Service", "服务"),
    "settings_destination_quiet": Message("Quiet hours", "静默时段"),
    "settings_destination_zone": Message("Time zone", "时区"),
    "settings_destination_last": Message("Last message", "最近消息"),
    "settings_destination_ok": Message("sent", "已发送"),
    "settings_destination_failed": Message("not sent", "未发送"),
    "settings_destination_reminders": Message("reminders", "提醒"),
    "settings_destination_takes_reminders": Message(
        "Also receives the texts of tasks with --say", "也接收 --say 任务的文字"
    ),
    "settings_destination_set": Message("Set a destination", "设置目的地"),
    "settings_destination_url": Message("URL", "URL"),
    "settings_destination_url_hint": Message(
        "For example slack://…, mailto://… or json://…; empty keeps the URL of a destination that exists.",
        "例如 slack://…、mailto://… 或 json://…；留空则保留已有目的地的 URL。",
    ),
    "settings_destination_saved": Message("The destination {name} is stored.", "目的地 {name} 已保存。"),
    "settings_destination_test": Message("Test", "测试"),
    "settings_destination_test_of": Message("Send a test message to {name}", "向 {name} 发送测试消息"),
    "settings_destination_sent": Message("A test message was sent to {name}.", "已向 {name} 发送测试消息。"),
    "settings_destination_not_sent": Message(
        "The test message to {name} was not sent: {answer}", "发往 {name} 的测试消息未发送：{answer}"
    ),
    "settings_destination_removed": Message("The destination {name} is deleted.", "目的地 {name} 已删除。"),
    "settings_destination_remove_about": Message(
        "Tasks that name it stay, and send nothing there.", "引用它的任务保留，但不再向其发送消息。"
    ),
    "settings_secrets_about": Message(
        "Tasks refer to a secret by its name. Values are encrypted, and no page ever shows one.",
        "任务按名称引用机密。值经过加密,任何页面都不会显示。",
    ),
    "settings_secret_no_key": Message(
        "This process has no key, so it can neither store nor open secrets. See horae doctor.",
        "此进程没有密钥,无法存储或打开机密。请运行 horae doctor 查看。",
    ),
    "settings_secret_agents": Message("Agents that may use it", "可使用的智能体"),
    "settings_secret_no_agents": Message("none", "无"),
    "settings_secret_grant": Message("Grant", "授权"),
    "settings_secret_grant_to": Message("Agent that may use {secret}", "可使用 {secret} 的智能体"),
    "settings_secret_ungrant": Message("Withdraw the grant of {agent}", "撤回 {agent} 的授权"),
    "settings_secret_set": Message("Set a secret", "设置机密"),
    "settings_secret_value": Message("Value", "值"),
    "settings_secret_value_hint": Message(
        "An existing secret of that name gets the new value.", "同名机密会更新为新值。"
    ),
    "settings_secret_saved": Message("The secret {secret} is stored.", "机密 {secret} 已保存。"),
    "settings_secret_removed": Message("The secret {secret} is deleted.", "机密 {secret} 已删除。"),
    "settings_secret_remove_about": Message(
        "Runs that refer to it fail from now on. The value cannot be brought back.",
        "引用它的运行从此会失败。值无法找回。",
    ),
    "settings_secret_granted": Message("Tasks of {agent} may use {secret}.", "{agent} 的任务可以使用 {secret}。"),
    "settings_secret_ungranted": Message(
        "Tasks of {agent} may no longer use {secret}.", "{agent} 的任务不能再使用 {secret}。"
    ),
    # --- sessions ----------------------------------------------------------------------------------------------------
    "settings_sessions_about": Message(
        "Browsers that are signed in. Revoke one that you do not know, then also revoke its token.",
        "已登录的浏览器。如有不认识的会话,请将其作废,并一并作废其令牌。",
    ),
    "settings_session_client": Message("Browser", "浏览器"),
    "settings_session_this": Message("this browser", "此浏览器"),
    "settings_session_used": Message("Last use", "最近使用"),
    "settings_session_ends": Message("Ends", "结束"),
    "settings_session_token": Message("Opened with", "登录方式"),
    "settings_session_link": Message("sign-in link", "登录链接"),
    "settings_session_revoke": Message("Revoke", "作废"),
    "settings_session_revoked": Message("The session of {owner} has ended.", "{owner} 的会话已结束。"),
    # --- doctor ------------------------------------------------------------------------------------------------------
    "doctor_grade_ok": Message("fine", "正常"),
    "doctor_grade_warning": Message("warning", "警告"),
    "doctor_grade_error": Message("error", "错误"),
    "doctor_grade_skipped": Message("not checked", "未检查"),
    "doctor_group_server": Message("Server", "服务器"),
    "doctor_group_machine": Message("Machine", "机器"),
    "doctor_group_settings": Message("Settings", "设置"),
    "doctor_group_store": Message("Store", "存储"),
    "doctor_group_nodes": Message("Nodes", "节点"),
    "doctor_group_tasks": Message("Tasks", "任务"),
    "doctor_summary": Message("{errors} errors, {warnings} warnings.", "{errors} 个错误,{warnings} 个警告。"),
    "doctor_checked": Message("Checked {time}.", "检查时间:{time}。"),
    "doctor_checked_at": Message("checked", "检查于"),
    "doctor_running": Message("It is being checked again.", "正在重新检查。"),
    "doctor_not_ready": Message("The checks are being made.", "正在检查。"),
    "doctor_reload": Message("Show the result", "显示结果"),
    "doctor_again": Message("Check again", "重新检查"),
    "doctor_about": Message(
        "The same checks are made on a terminal, where the store is or with --server:",
        "在终端也可进行同样的检查,在存储所在的机器上,或使用 --server:",
    ),
    # --- about -------------------------------------------------------------------------------------------------------
    "settings_about_version": Message("Version", "版本"),
    "settings_about_python": Message("Python", "Python"),
    "settings_about_store": Message("Store", "存储"),
    "settings_about_zone": Message("Zone of the server", "服务器时区"),
    "settings_about_tzdata": Message("Time zone data", "时区数据"),
    "settings_retention": Message("How long things are kept", "保留时间"),
    "settings_keep_tokens": Message("Revoked and expired tokens", "已作废和过期的令牌"),
    "settings_keep_deliveries": Message("Deliveries of webhooks", "Webhook 投递记录"),
    "settings_session_idle": Message("A session without use", "未使用的会话"),
    "settings_session_absolute": Message("A session at most", "会话最长"),
    "settings_retention_runs": Message(
        "How long ended runs are kept is a setting of the nodes:", "已结束的运行保留多久由节点设置决定:"
    ),
}
