"""How many requests may be on their way, and how long the next one waits."""

import asyncio
import logging

import pytest
from openai_runs import QuickClock

from carve_stats.replay.agents._rate_limit import RequestGate, pause_after, read_retry_after


def lines(caplog):
    return [record.getMessage() for record in caplog.records]


async def entered(gate, n):
    return [await gate.enter() for _ in range(n)]


def test_a_complaint_halves_what_is_in_flight_and_successes_give_it_back(caplog):
    async def scenario():
        gate = RequestGate(QuickClock())
        assert gate.allowed is None
        waves = await entered(gate, 9)
        gate.leave()
        gate.limit(waves[0], 12.0, "429")
        assert gate.allowed == 4
        # They were sent before the server complained, so they say nothing new.
        for wave in waves[1:]:
            gate.leave()
            gate.limit(wave, 3.0, "429")
        assert gate.allowed == 4
        grown = []
        for _ in range(4 + 5 + 6 + 7 + 8):
            await gate.enter()
            gate.leave()
            gate.succeed()
            grown.append(gate.allowed)
        assert grown == [4] * 3 + [5] * 5 + [6] * 6 + [7] * 7 + [8] * 8 + [None]

    asyncio.run(scenario())
    assert lines(caplog) == ["waiting on rate limit: 12 s (429), 4 requests at a time"]


def test_each_wave_of_complaints_halves_again_down_to_one(caplog):
    async def scenario():
        gate = RequestGate(QuickClock())
        (wave, *_) = await entered(gate, 5)
        for allowed in (2, 1, 1):
            gate.leave()
            gate.limit(wave, 0.5, "503")
            assert gate.allowed == allowed
            for _ in range(gate.in_flight):
                gate.leave()
            wave = await gate.enter()

    asyncio.run(scenario())
    assert lines(caplog)[1:] == ["waiting on rate limit: 0.5 s (503), 1 request at a time"] * 2


def test_nothing_is_sent_while_the_server_asks_to_wait_and_no_more_than_allowed_then():
    async def scenario():
        clock = QuickClock()
        gate = RequestGate(clock)
        waves = await entered(gate, 4)
        for wave in waves:
            gate.leave()
            gate.limit(wave, 7.0, "429")
        sent = []

        async def send(i):
            await gate.enter()
            sent.append((i, clock.now, gate.in_flight))
            for _ in range(3):
                await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*(send(i) for i in range(6)))
        assert [i for i, _, _ in sent] == list(range(6))
        assert {now for _, now, _ in sent} == {7.0}
        assert max(n for *_, n in sent) == 2

    asyncio.run(scenario())


def test_a_request_that_is_given_up_while_it_waits_takes_no_place():
    async def scenario():
        gate = RequestGate(QuickClock())
        (wave,) = await entered(gate, 1)
        gate.leave()
        gate.limit(wave, 0.0, "429")
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.leave()
        assert gate.in_flight == 0
        await asyncio.wait_for(gate.enter(), timeout=5)

    asyncio.run(scenario())


def test_trouble_of_many_requests_at_one_time_is_told_once(caplog):
    async def scenario():
        clock = QuickClock()
        gate = RequestGate(clock)
        for _ in range(20):
            gate.tell_pause(2.0, "500")
        clock.now = 2.0
        gate.tell_pause(4.0, "502")

    asyncio.run(scenario())
    assert lines(caplog) == [
        "server in trouble, trying again in 2 s: 500",
        "server in trouble, trying again in 4 s: 502",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        # RFC 9110 writes this date; by `date -u -d @784111777`.
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 77.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 -0000"}, 77.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:40:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers, seconds):
    assert read_retry_after(headers, now=784111700.0) == seconds


def test_pauses_double_and_are_never_shorter_than_what_was_asked_for():
    assert [pause_after(n, None) for n in (1, 2, 6, 7, 1000)] == [1, 2, 32, 60, 60]
    assert pause_after(1, 90.0) == pause_after(9, 90.0) == 90
    # A server that says 0 for ever is waited for in the end.
    assert [pause_after(n, 0.0) for n in (1, 2, 5, 50)] == pytest.approx([0.1, 0.2, 1.6, 60])
