"""The agent target: executes a turn of messages, or a scheduled prompt, by an agent in a sandbox."""
