"""Routes of accounts: owners, agents, tokens, sessions, secrets and the audit trail."""
