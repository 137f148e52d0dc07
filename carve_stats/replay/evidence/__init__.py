"""Frames: reading, re-rendering and encoding the evidence that an agent is shown."""
