"""A program for the tests: does at each request what the question's id says, or answers.

It imports nothing that takes long to import.
"""

import json
import os
import signal
import sys
import time


def write(data):
    while data:
        data = data[os.write(1, data) :]


def reply(request, **fields):
    write(json.dumps({"id": request["id"], "text": "The answer is B.", **fields}).encode() + b"\n")


def hang(request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("thinking", file=sys.stderr, flush=True)
    time.sleep(600)


def chat(request):
    for number in range(20000):
        print(f"note {number} " + "x" * 50, file=sys.stderr)
    reply(request)


def close_output(request):
    os.close(1)
    time.sleep(0.05)
    sys.exit(4)


def fail(request):
    raise MemoryError("no\x1b[31m room")


def twice(request):
    line = json.dumps({"id": request["id"], "text": "A"}).encode() + b"\n"
    os.write(1, line * 2)


def late(request):
    """A second line, once the first has been read."""
    reply(request)
    sys.stdout.flush()
    time.sleep(0.2)
    reply(request, text="The answer is A.")


DEEDS = {
    "exits": lambda request: sys.exit(3),
    "leaves": lambda request: sys.exit(0),
    "dies": lambda request: os.kill(os.getpid(), signal.SIGSEGV),
    "is killed": lambda request: os.kill(os.getpid(), signal.SIGKILL),
    "raises": fail,
    "hangs": hang,
    "half": lambda request: (write(b'{"id": 1, "te'), sys.exit(0)),
    "no UTF-8": lambda request: write(b'{"text": "\xff\xfe"}\n'),
    "NUL": lambda request: write(b'"A\0"\n'),
    "no JSON": lambda request: write(b"Loading \x1b[31mweights\n"),
    "long, no JSON": lambda request: write(b"x" * 10**7 + b"\n"),
    "deep": lambda request: write(b"[" * 10**6 + b"\n"),
    "other id": lambda request: reply(request, id=request["id"] - 1),
    "twice": twice,
    "closes": close_output,
    "long": lambda request: reply(request, text="The answer is B." + " " * 10**7),
    "chats": chat,
    "late": late,
    "says": lambda request: write(
        json.dumps({"id": request["id"], "error": "server is\n down"}).encode() + b"\n"
    ),
    "string": lambda request: write(b'"The answer is B."\n'),
    "half a character": lambda request: reply(request, text="The answer is B. \ud83d"),
    "whole": lambda request: reply(
        request, answer="B", finish_reason="stop", usage={"tokens": 3}, model=str(os.getpid()),
        from_cache=False,
    ),
    "nulls": lambda request: reply(request, answer=None, usage=None, model=None),
    "no text": lambda request: write(json.dumps({"id": request["id"]}).encode() + b"\n"),
    "number": lambda request: write(b"3\n"),
    "no such field": lambda request: reply(request, finsh_reason="stop"),
    "text is a number": lambda request: reply(request, text=3),
    "usage in words": lambda request: reply(request, usage={"tokens": "many"}),
}  # fmt: skip

if __name__ == "__main__":
    for line in sys.stdin.buffer:
        request = json.loads(line)
        DEEDS.get(request["question_id"], reply)(request)
