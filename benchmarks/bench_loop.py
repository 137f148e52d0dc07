"""Benchmark: the replay loop with the synthetic agent, and the store that it fills.

There is no peer: the targets are the project's, 20,000 replays a second on one core and less than
200 MB of memory from 10,000 replays to 1,000,000: of the same 5,000 questions, and of ten times as
many, whose trajectories then count. The time is the processor's, of a process of
its own, from the call to the finished run; memory is the largest that the process ever held. The
store is a temporary folder, so that the disk is the machine's.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.loop import run_replays
from carve_stats.replay.store import RunStore

SIZES = ((5_000, 10), (5_000, 100), (50_000, 10))  # questions, and replays in each condition
SMALL = ((5_000, 1), (5_000, 1), (500, 10))  # what the memory of each is compared with
CONDITIONS = ("sham", "destroy")
MOST_MEGABYTES = 200
LEAST_RATE = 20_000
ROW = "{:56} {:>14} {:>14} {:>10}  {}"


def megabytes():
    unit = 1024**2 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def run_once(n, k):
    """Run k replays of each of n questions, open the run again, and print what that took."""
    rng = np.random.default_rng(1)
    p_sham, p_destroy = rng.random((2, n))
    questions = synthetic_trajectories(p_sham, p_destroy, cluster=[f"v{i // 10}" for i in range(n)])
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        status = run_replays(
            SyntheticAgent(), questions, k=k, store=folder, seed=1, conditions=CONDITIONS
        )
        ran, peak = time.process_time() - start, megabytes()
        start = time.process_time()
        opened = RunStore.load(folder).progress.status()
        reopened = time.process_time() - start
    if opened != status or status.done != k * len(CONDITIONS) * n:
        raise SystemExit(f"k = {k}: {opened} when it is opened, {status} when it ran")
    print(status.done, ran, reopened, peak)


def measure(n, k):
    """Replays, seconds to run, seconds to open again, and the peak in MB, of a process."""
    command = [sys.executable, __file__, str(n), str(k)]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(words[0]), *map(float, words[1:])


def report(what, target, measured, ratio, met=True):
    print(ROW.format(what, target, measured, ratio, "met" if met else "NOT MET"))


def main():
    print(ROW.format("", "target", "measured", "ratio", ""))
    for size, small in zip(SIZES, SMALL, strict=True):
        few, *_, base = measure(*small)
        replays, ran, reopened, peak = measure(*size)
        rate, growth = replays / ran, peak - base
        what = f"{replays:,} replays of {size[0]:,} questions"
        report(what, f">= {LEAST_RATE:,}/s", f"{rate:,.0f}/s", f"{rate / LEAST_RATE:.3g}x",
               rate >= LEAST_RATE)  # fmt: skip
        report("    opened again", "-", f"{replays / reopened:,.0f}/s", "-")
        report(f"    memory, from {few:,} replays of {small[0]:,}", f"< {MOST_MEGABYTES} MB",
               f"{growth:.1f} MB", f"{growth / MOST_MEGABYTES:.2f}x",
               growth < MOST_MEGABYTES)  # fmt: skip


if __name__ == "__main__":
    run_once(*map(int, sys.argv[1:])) if len(sys.argv) > 1 else main()
