"""Sends the texts of agents to their chats."""
