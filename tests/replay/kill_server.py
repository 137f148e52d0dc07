"""A process that runs one replay run again and again in children that kill themselves.

It imports once and then forks, so that a hundred kills take a few seconds. Told a JSON object a
line: `how` a child is killed and `at` which point; it answers how the child ended.
"""

import json
import os
import signal
import sys
import time

from carve_stats.replay import segments
from carve_stats.replay.agents.synthetic import SyntheticAgent
from carve_stats.replay.loop import run_replays
from carve_stats.replay.trajectories import read_trajectories

__all__: list[str] = []

write = os.write


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def after_bytes(allowed):
    """Be killed within the write of a record, or after it."""
    left = [allowed]

    def write_some(file, data):
        written = write(file, data[: left[0]])
        left[0] -= written
        if left[0] == 0:
            die()
        return written

    segments.os.write = write_some


def at_event(number):
    """Be killed before a thing that the process asks of the file system in the run's folder."""
    left = [number]

    def count(event, arguments):
        if event in ("open", "os.mkdir", "os.link", "os.remove", "os.listdir") and (
            "run/" in str(arguments[0]) or str(arguments[0]).endswith("run")
        ):
            left[0] -= 1
            if left[0] <= 0:
                die()

    sys.addaudithook(count)


def after_seconds(seconds):
    """Be killed wherever the process is at the time."""
    signal.signal(signal.SIGALRM, die)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def going_back(_):
    """Not be killed, but have a clock that jumps back an hour with every look at it."""
    hours = iter(range(10**6))
    time.time = lambda: 1.7e9 - 3600 * next(hours)


HOW = {"bytes": after_bytes, "event": at_event, "seconds": after_seconds,
       "clock": going_back, "never": lambda at: None}  # fmt: skip


def run(order):
    HOW[order["how"]](order.get("at"))
    run_replays(
        SyntheticAgent(),
        read_trajectories("questions.jsonl"),
        k=order.get("k", 3),
        store=order.get("store", "run"),
        seed=order.get("seed", 9),
        workers=order.get("workers", 1),
    )


def fork(order):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run(order)
            status = 0
        except Exception as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return child


def main():
    for line in sys.stdin:
        orders = json.loads(line)
        children = [fork(order) for order in orders]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(ends), flush=True)


if __name__ == "__main__":
    main()
