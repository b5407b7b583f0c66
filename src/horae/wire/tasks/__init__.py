"""Tasks and their parts to JSON and back, in every spelling that a front end accepts."""
