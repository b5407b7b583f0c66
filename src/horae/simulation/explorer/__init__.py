"""Every order of store calls in small scopes, with the real decisions and the real store in memory."""
