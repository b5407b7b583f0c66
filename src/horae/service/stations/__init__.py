"""Stations of an owner: which keys may join under which name, and which workers have joined."""
