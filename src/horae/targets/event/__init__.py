"""Events as targets: that a task is due is told to whoever listens, here, over Redis, or by a webhook."""
