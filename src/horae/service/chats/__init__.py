"""Chats of groups, and the texts on their way to them."""
