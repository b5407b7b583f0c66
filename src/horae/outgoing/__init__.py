"""What goes out over HTTP: one guarded client that http targets, webhooks and channels share."""
