"""What the tests of the `command:` agent share: programs, and a look at who is left running."""

import os
import select
import shlex
import sys
from pathlib import Path

from carve_stats.replay.agents import load_agent
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

OPTIONS = {"A": "a rabbit", "B": "a fox"}
# -S: it begins sooner without packages.
FAILING = shlex.join([sys.executable, "-S", str(Path(__file__).with_name("failing_program.py"))])


def sh(script):
    """A command that runs a script of sh."""
    return shlex.join(["sh", "-c", script])


def agent_of(command, **options):
    return load_agent(f"command:{command}", **options)


def questions(*names):
    return [Trajectory(question_id=name, answer="A", options=OPTIONS) for name in names]


def replay(agent, asked, store, *, k=1, **options):
    """Run the replays in SELF; the records by question, in the order of repetitions."""
    run_replays(agent, asked, k=k, store=store, seed=1, conditions=["self"], **options)
    return kept(store)


def kept(store):
    records = {}
    for record in sorted(RunStore.load(store).records(), key=lambda r: r.key):
        records.setdefault(record.question_id, []).append(record)
    return records


class Watch:
    """A named pipe that a program opens as its descriptor 3: it ends when all who have it do."""

    def __init__(self, folder):
        self.path = folder / "alive"
        os.mkfifo(self.path)
        self.pipe = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self):
        os.close(self.pipe)

    def opened(self, seconds=30):
        """Whether somebody has written to it, within a while."""
        ready, _, _ = select.select([self.pipe], [], [], seconds)
        return bool(ready) and os.read(self.pipe, 1) != b""

    def ended(self, seconds=30):
        """Whether nobody has it any more, within a while."""
        ready, _, _ = select.select([self.pipe], [], [], seconds)
        return bool(ready) and os.read(self.pipe, 1) == b""
