"""Routes of chats: groups, messages, deliveries and streams."""
