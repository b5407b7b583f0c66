"""Host of agents: receives the messages of chats, asks for turns, executes commands of chats, and sends the answers."""
