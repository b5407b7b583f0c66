"""Claims and settlements on Redis: the head of the agenda, lanes and their queues."""
