"""Texts of the Activity page."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "activity_about": Message(
        "Who did what, newest first. Each row is written with the change itself and sealed into a hash chain; "
        "payloads and secrets are never in it.",
        "谁做了什么,最新的在前。每一行都与更改本身同时写入,并封入哈希链;其中从不包含负载和机密。",
    ),
    "activity_verify": Message("Verify the chain", "校验哈希链"),
    "activity_verified": Message(
        "Verified: all {number} rows are unchanged since they were written. Checked at {time}.",
        "已校验:全部 {number} 行自写入以来未被改动。校验时间 {time}。",
    ),
    "activity_broken": Message(
        "The chain is broken at row {number}. Checked at {time}.", "哈希链在第 {number} 行断裂。校验时间 {time}。"
    ),
    "activity_broken_about": Message(
        "That row was altered or removed, or rows after it are missing. Compare it with a backup.",
        "该行被改动或删除,或其后的行缺失。请与备份比对。",
    ),
    "activity_head": Message("Head of the chain; keep a copy elsewhere:", "链头;请在别处保存一份:"),
    "activity_number": Message("Row", "行"),
    "activity_who": Message("Who", "操作者"),
    "activity_action": Message("Action", "操作"),
    "activity_object": Message("Object", "对象"),
    "activity_change": Message("Change", "更改"),
    "activity_before": Message("Before", "之前"),
    "activity_after": Message("After", "之后"),
    "activity_fields": Message("changed, values not recorded:", "已更改,未记录其值:"),
    "activity_agent": Message("agent {agent}", "智能体 {agent}"),
    "activity_proof": Message("Request and hash", "请求与哈希"),
    "activity_actor": Message("Actor", "主体"),
    "activity_hash": Message("Hash", "哈希"),
    "activity_unreadable": Message("This row was altered and cannot be read.", "此行被改动,无法读取。"),
    "activity_none": Message("Nothing was done yet", "尚无操作"),
    "activity_none_about": Message(
        "Every change by a person, a token or an agent appears here. On a terminal:",
        "人员、令牌或智能体的每次更改都会显示在这里。在终端查看:",
    ),
    "activity_search_cut": Message(
        "This page searched {number} rows. Go on with the next page to search older ones.",
        "本页已搜索 {number} 行。请转到下一页继续搜索更早的行。",
    ),
    "activity_kind_agent": Message("agent", "智能体"),
    "activity_kind_token": Message("token", "令牌"),
    "activity_kind_browser": Message("browser", "浏览器"),
    "activity_kind_local": Message("this machine", "本机"),
    "activity_kind_system": Message("system", "系统"),
    "activity_group_task": Message("tasks", "任务"),
    "activity_group_run": Message("runs", "运行"),
    "activity_group_lane": Message("lanes", "通道"),
    "activity_group_node": Message("nodes", "节点"),
    "activity_group_owner": Message("owners", "所有者"),
    "activity_group_agent": Message("agents", "智能体"),
    "activity_group_token": Message("tokens", "令牌"),
    "activity_group_session": Message("sessions", "会话"),
    "activity_group_secret": Message("secrets", "机密"),
    "activity_group_webhook": Message("webhooks", "Webhook"),
    "activity_group_stream": Message("message streams", "消息流"),
    "activity_group_delivery": Message("texts to chats", "发往聊天的文本"),
    "activity_group_operation": Message("bulk operations", "批量操作"),
    "activity_group_link": Message("sign-in links", "登录链接"),
}
