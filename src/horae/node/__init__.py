"""A node as processes: a supervisor, a worker with the engine, and the HTTP API; what they report goes to callbacks.

supervisor       restarts one child process          processes         the children of `horae up`, with sd_notify
worker           runs the engine until it is stopped  api_server        listens, makes the first token, registers itself
control_socket   from a child to its supervisor       heartbeat         for the watchdog of a service manager
"""
