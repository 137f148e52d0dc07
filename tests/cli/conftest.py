"""The fixtures of `runner`, for every test of a command."""

from runner import command, command_json, refused

__all__ = ["command", "command_json", "refused"]
