"""Router of chats: decides which messages wake the agent of a group and writes its prompt."""
