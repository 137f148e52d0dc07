"""The exact theory of finite replays; knows no logs."""
