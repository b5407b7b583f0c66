"""The http target: a task calls an endpoint, and the endpoint's answer is the outcome."""
