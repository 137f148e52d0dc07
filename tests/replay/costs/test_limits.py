"""`SpendLimit`: never more calls than allowed, by whatever engine; money by what records say."""

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from carve_stats.errors import AgentError, InputError
from carve_stats.replay.costs.limits import SpendLimit
from carve_stats.replay.costs.prices import ModelPrice, Prices
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.independence.canary_report import CanaryReport, keep_canary
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory, write_trajectories

OPTIONS = {"A": "yes", "B": "no"}
CANARY_OFF = {"canary": "off"}
QUESTIONS = [Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS) for i in range(6)]
PRICES = Prices(
    currency="USD",
    models={"m": ModelPrice(input=Fraction(3, 10**4), output=Fraction(15, 10**4))},
)


def price_of(usage):
    """By hand: 0.0003 a token read, 0.0015 a token written."""
    return (
        3 * Fraction(usage["prompt_tokens"]) + 15 * Fraction(usage["completion_tokens"])
    ) / 10**4


class Function:
    """Answers, counts its calls, and tells its tokens."""

    def __init__(self, *, tokens=lambda draw: {}, replies=("A", "B"), pause=0.0):
        self.made = []
        self.tokens = tokens
        self.replies = replies
        self.pause = pause
        self.lock = threading.Lock()

    def reply(self, request):
        draw = random.Random(request.seed)
        reply = ReplayReply(
            text=draw.choice(self.replies), usage=self.tokens(draw), model="m",
        )  # fmt: skip
        with self.lock:
            self.made.append(reply)
        return reply

    def __call__(self, request):
        time.sleep(self.pause)
        return self.reply(request)

    def fingerprint(self):
        return {"name": "function"}


class Coroutine(Function):
    async def __call__(self, request):
        await asyncio.sleep(self.pause)
        return self.reply(request)


def few_tokens(draw):
    return {"prompt_tokens": draw.randrange(900, 1100), "completion_tokens": draw.randrange(20)}


@pytest.mark.parametrize("most", [1, 7, 8, 9, 53, 54, 55])
@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("make", [Function, Coroutine])
def test_never_more_calls_than_allowed_and_not_one_fewer(tmp_path, make, workers, most):
    agent = make(pause=0.0005)
    limit = SpendLimit(max_calls=most)
    status = run_replays(
        agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=workers, limit=limit
    )
    assert len(agent.made) == status.attempts == limit.calls == min(most, 54)
    assert limit.reached == ("max_calls" if most < 54 else None)
    assert status.finished == (most >= 54)


@pytest.mark.parametrize("make", [Function, Coroutine])
def test_a_raised_limit_goes_on_and_all_attempts_count(tmp_path, make):
    """Replies that do not parse are tried again, and each try is a call."""
    free = tmp_path / "free"
    agent = make(replies=("A", "B", "", "no idea"))
    run_replays(agent, QUESTIONS, k=3, store=free, seed=1, attempts=3)
    needed = len(agent.made)
    assert needed > 54
    total = 0
    for most in (10, 10, 60, needed - 1, needed, needed + 5):
        again = make(replies=agent.replies)
        limit = SpendLimit(max_calls=most)
        status = run_replays(
            again, QUESTIONS, k=3, store=tmp_path / "run", seed=1, attempts=3, workers=8,
            limit=limit,
        )  # fmt: skip
        total += len(again.made)
        assert total == status.attempts == limit.calls == min(most, needed)
    assert status.finished
    kept = [
        {r.key: (r.text, r.seed) for r in RunStore.load(place).records()}
        for place in (free, tmp_path / "run")
    ]
    assert kept[0] == kept[1]


def test_a_run_that_stops_questions_early_goes_on_where_the_limit_ended_it(tmp_path):
    from carve_stats.law.stopping import fixed_plan

    def run(store, limit):
        return run_replays(
            Function(), QUESTIONS, k=3, store=store, seed=1, workers=4, limit=limit,
            stopping=fixed_plan(3, 3, "score <= 0", "alternate"),
        )  # fmt: skip

    whole = run(tmp_path / "whole", None)
    for most in range(1, whole.attempts + 1, 5):
        assert run(tmp_path / "parts", SpendLimit(max_calls=most)).attempts == most
    assert run(tmp_path / "parts", SpendLimit(max_calls=999)) == whole


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("make", [Function, Coroutine])
def test_money_is_what_the_records_say_and_the_limit_is_kept(tmp_path, make, workers):
    agent = make(tokens=few_tokens, pause=0.0005)
    limit = SpendLimit(max_cost=10, prices=PRICES)
    status = run_replays(
        agent, QUESTIONS, k=9, store=tmp_path, seed=1, workers=workers, limit=limit
    )
    costs = [price_of(reply.usage) for reply in agent.made]
    assert limit.cost == sum(costs)
    assert limit.reached == "max_cost"
    assert not status.finished
    # The last ones may each be as much dearer than all before as the dearest is than the cheapest.
    assert limit.cost <= 10 + workers * (max(costs) - min(costs))
    assert limit.cost + max(costs) > 10 - max(costs)


def test_with_equal_costs_the_limit_is_exact_whatever_is_in_flight(tmp_path):
    agent = Function(
        tokens=lambda draw: {"input_tokens": 1000, "output_tokens": 100}, pause=0.001
    )  # 0.45 each
    for dollars, replays in ((0.4499, 1), (0.9, 2), (4.5, 10), (4.94, 10), (4.95, 11)):
        limit = SpendLimit(max_cost=dollars, prices=PRICES)
        run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=8, limit=limit)
        assert len(agent.made) == replays
        assert limit.cost == replays * Fraction(45, 100)


def test_the_first_replay_of_a_run_is_made_alone_to_learn_its_cost(tmp_path):
    agent = Coroutine(tokens=lambda draw: {"prompt_tokens": 10**6, "completion_tokens": 0})
    limit = SpendLimit(max_cost=1, prices=PRICES)
    status = run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=64, limit=limit)
    assert status.attempts == len(agent.made) == 1
    assert str(limit) == "max_cost=1 (300 USD spent)"


def test_prices_of_calls_alone_are_kept_to_the_call(tmp_path):
    prices = Prices(currency="EUR", models={"default": ModelPrice(call=Fraction(1, 10))})
    agent = Function(pause=0.001)
    limit = SpendLimit(max_cost=0.75, prices=prices)
    run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=8, limit=limit)
    assert len(agent.made) == 7
    assert limit.cost == Fraction(7, 10)


def test_a_price_of_other_models_is_not_taken_for_what_replies_cost(tmp_path):
    """The agent does not say what it asks for: its replies do, and they are not free."""
    free = {"default": ModelPrice(), **PRICES.models}
    agent = Function(tokens=lambda draw: {"prompt_tokens": 10**4, "completion_tokens": 0})
    limit = SpendLimit(max_cost=1, prices=Prices(currency="EUR", models=free))
    run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=8, limit=limit)
    assert len(agent.made) == 1
    assert limit.cost == 3


def test_zero_prices_never_stop_a_run(tmp_path):
    prices = Prices(currency="EUR", models={"default": ModelPrice()})
    limit = SpendLimit(max_cost=0.01, prices=prices)
    status = run_replays(Function(), QUESTIONS, k=3, store=tmp_path, seed=1, limit=limit)
    assert status.finished
    assert limit.cost == 0


@pytest.mark.parametrize("make", [Function, Coroutine])
def test_a_reply_without_tokens_ends_the_run_with_one_line(tmp_path, make):
    def tokens(draw):
        return few_tokens(draw) if draw.random() < 0.5 else {"prompt_tokens": 7}

    limit = SpendLimit(max_cost=100, prices=PRICES)
    for _ in range(2):  # also where the record is there already, and no call is then made
        agent = make(tokens=tokens)
        with pytest.raises(AgentError, match="does not tell its tokens") as raised:
            run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, limit=limit)
        assert "\n" not in str(raised.value)
    assert agent.made == []
    limit = SpendLimit(max_calls=54, prices=PRICES)  # counts no money
    assert run_replays(make(), QUESTIONS, k=3, store=tmp_path, seed=1, limit=limit).finished


def test_a_model_without_a_price_ends_the_run_before_more_is_spent(tmp_path):
    agent = Function(tokens=few_tokens)
    prices = Prices(currency="USD", models={"other": ModelPrice()}, place="prices.toml")
    with pytest.raises(InputError, match=r"prices.toml: no price for the model .m.: add \[models"):
        run_replays(
            agent, QUESTIONS, k=3, store=tmp_path, seed=1,
            limit=SpendLimit(max_cost=1, prices=prices),
        )  # fmt: skip
    assert len(agent.made) == 1


def requests(*statuses):
    return [{"status": s, "error": None, "seconds": 0.1, "waited": 0.0} for s in statuses]


def test_refused_requests_cost_nothing_and_lost_replies_what_the_dearest_did(tmp_path):
    class Unlucky(Function):
        def __call__(self, request):
            i = len(self.made)
            self.made.append(None)
            if i == 1:
                error = TimeoutError("no reply")
                error.transport = requests(429, None)
                raise error
            if i == 2:
                return ReplayReply(text="", finish_reason="content_filter",
                                   transport=requests(400))  # fmt: skip
            tokens = {"prompt_tokens": 1000 * (i + 1), "completion_tokens": 0}
            return ReplayReply(text="A", usage=tokens, model="m", transport=requests(429, 500, 200))

    limit = SpendLimit(max_cost=100, prices=PRICES)
    run_replays(Unlucky(), QUESTIONS[:1], k=4, store=tmp_path, seed=1, limit=limit,
                conditions=["sham"])  # fmt: skip
    # 0.3, lost, refused, 1.2; the lost one counts as 1.2.
    assert limit.cost == Fraction(27, 10)
    assert limit.calls == 4


def test_several_answered_requests_of_a_reply_are_as_many_calls(tmp_path):
    class Thrice(Function):
        def __call__(self, request):
            self.made.append(None)
            return ReplayReply(text="A", transport=requests(200, 503, 200, 200))

    agent = Thrice()
    limit = SpendLimit(max_calls=10)
    run_replays(agent, QUESTIONS, k=3, store=tmp_path, seed=1, workers=1, limit=limit)
    assert (len(agent.made), limit.calls) == (3, 9)


@pytest.fixture
def pictures(tmp_path, rng):
    import numpy as np

    frame = Encoder("png").encode(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), None)
    (tmp_path / "a.png").write_bytes(frame.data)
    return [
        Trajectory(
            question_id=f"p{i}", answer="A", options=OPTIONS,
            evidence=[EvidenceItem(id="one", text="t", frames=("a.png", "a.png")),
                      EvidenceItem(id="two", text="u", frames=("a.png",)),
                      EvidenceItem(id="three", text="v")],
        )
        for i in range(2)
    ]  # fmt: skip


def test_captions_are_calls_and_frames_have_a_price(tmp_path, pictures):
    class Captioning(Function):
        def render(self, evidence, *, seed):
            with self.lock:
                self.made.append(None)
            return f"caption {seed}"

    prices = Prices(
        currency="USD",
        models={"m": ModelPrice(call=Fraction(1, 10), image=Fraction(1, 100))},
    )
    for most in (2, 7, 8, 9):
        agent = Captioning(pause=0.001)
        store = tmp_path / f"run{most}"
        limit = SpendLimit(max_calls=most, prices=prices)
        status = run_replays(
            agent, pictures, k={"self": 1, "sham": 2}, conditions=["self", "sham"], store=store,
            seed=1, workers=4, media=tmp_path, limit=limit, **CANARY_OFF,
        )  # fmt: skip
        assert most - 3 < len(agent.made) == limit.calls <= most
        # SELF takes one call; SHAM two captions and one reply; every replay shows three frames.
        assert limit.cost == Fraction(limit.calls, 10) + Fraction(3 * status.attempts, 100)


def test_the_canary_of_a_run_counts(tmp_path):
    given = {"k": 1, "store": tmp_path, "seed": 1, "agent_spec": {"model": "m"}}
    run_replays(Function(), QUESTIONS, **given, limit=SpendLimit(max_calls=1))
    usage = {"prompt_tokens": 4000.0, "completion_tokens": 0.0}
    keep_canary(tmp_path, CanaryReport(passed=True, calls=4, captions=6, usage=usage))
    limit = SpendLimit(max_calls=12, prices=PRICES)
    status = run_replays(Function(), QUESTIONS, **given, limit=limit)
    assert (limit.calls, status.attempts) == (12, 2)
    # 1.2 for the canary; the two replies tell no tokens, and count as the dearest, 0.3.
    assert limit.cost == Fraction(18, 10)
    later = {"prompt_tokens": 10.0, "completion_tokens": 1.0}
    limit.add_canary(CanaryReport(passed=None, calls=1, usage=later))
    assert (limit.calls, limit.cost) == (13, Fraction(18045, 10**4))


@pytest.fixture
def uncaptioned(pictures):
    return [
        replace(asked, evidence=tuple(replace(item, text=None) for item in asked.evidence
                                      if item.pictured))
        for asked in pictures
    ]  # fmt: skip


def test_a_canary_takes_what_it_needs_and_not_what_it_might(tmp_path, uncaptioned):
    class Looking(Function):
        def reply(self, request):
            shown = [frame.data for item in request.evidence for frame in item.frames]
            self.made.append(request)
            return f"The answer is A, with {len(self.made) if shown else 0} looks"

    agent = Looking()
    limit = SpendLimit(max_calls=7)
    status = run_replays(agent, uncaptioned, k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                         limit=limit)  # fmt: skip
    assert limit.calls == len(agent.made) == 7
    assert status.attempts == 5


@pytest.mark.parametrize("captions", [False, True])
@pytest.mark.parametrize("most", [1, 5, 39])
def test_a_canary_that_is_blind_passes_no_limit_and_is_not_forgotten(
    tmp_path, uncaptioned, most, captions
):
    class Captioning(Function):
        def render(self, evidence, *, seed):
            captioned.append(evidence)
            return "always the same"

    captioned = []
    agent = (Captioning if captions else Function)(replies=("A",))
    given = {"k": 1, "store": tmp_path / "run", "seed": 1, "media": tmp_path}
    for limit in (SpendLimit(max_calls=most), SpendLimit(max_calls=most + 1)):
        with pytest.raises(InputError, match=r"leaves no room for the canary.*--canary off") as e:
            run_replays(agent, uncaptioned, **given, limit=limit)
        assert str(e.value).startswith(f"max_calls={limit.max_calls} ({limit.calls} made)")
        assert "\n" not in str(e.value)
        assert len(agent.made) + len(captioned) <= limit.calls <= limit.max_calls
    spent = limit.calls
    limit = SpendLimit(max_calls=spent + 3)
    run_replays(agent, uncaptioned, **given, limit=limit, canary="off")
    assert limit.calls > spent or captions


def test_a_canary_passes_no_limit_of_money(tmp_path, uncaptioned):
    agent = Function(replies=("A",), tokens=lambda draw: {"prompt_tokens": 10_000,
                                                          "completion_tokens": 0})  # fmt: skip
    given = {"k": 1, "store": tmp_path / "run", "seed": 1, "media": tmp_path,
             "agent_spec": {"model": "m"}}  # fmt: skip
    for times in (1, 2):
        limit = SpendLimit(max_cost=10, prices=PRICES)
        with pytest.raises(InputError, match=r"max_cost=10 \(9 USD spent\) leaves no room"):
            run_replays(agent, uncaptioned, **given, limit=limit)
        assert limit.cost == len(agent.made) * 3 == 9, times


def test_the_dearest_call_of_a_canary_is_what_the_next_one_may_cost(tmp_path, uncaptioned):
    """The first costs 6, others 1.5: after three 9 are spent, and another 6 would pass 14."""
    agent = Function(replies=("A",), tokens=lambda draw: {
        "prompt_tokens": 5000 if agent.made else 20_000, "completion_tokens": 0})  # fmt: skip
    limit = SpendLimit(max_cost=14, prices=PRICES)
    with pytest.raises(InputError, match=r"max_cost=14 \(9 USD spent\) leaves no room"):
        run_replays(agent, uncaptioned, k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                    agent_spec={"model": "m"}, limit=limit)  # fmt: skip
    assert len(agent.made) == 3


@pytest.mark.parametrize("cost", [0.09, 0.12, 0.13, 0.25, 0.39])
def test_a_canary_at_known_prices_is_kept_to_the_call(tmp_path, uncaptioned, cost):
    """A call is 0.10 and three frames 0.03; also the reply to half a pair shows its frames."""
    prices = Prices(
        currency="EUR",
        models={"default": ModelPrice(call=Fraction(1, 10), image=Fraction(1, 100))},
    )
    agent = Function(replies=("A",))
    limit = SpendLimit(max_cost=cost, prices=prices)
    with pytest.raises(InputError, match="leaves no room for the canary"):
        run_replays(agent, uncaptioned, k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                    limit=limit)  # fmt: skip
    assert len(agent.made) == int(100 * cost) // 13
    assert limit.cost == Fraction(13 * len(agent.made), 100)


def test_a_canary_of_a_model_that_only_replies_name_counts_as_the_dearest(tmp_path, uncaptioned):
    models = {"cheap": ModelPrice(), **PRICES.models}
    agent = Function(replies=("A",), tokens=lambda draw: {"prompt_tokens": 10_000,
                                                          "completion_tokens": 0})  # fmt: skip
    limit = SpendLimit(max_cost=10, prices=Prices(currency="EUR", models=models))
    with pytest.raises(InputError, match=r"max_cost=10 \(9 EUR spent\) leaves no room"):
        run_replays(agent, uncaptioned, k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                    limit=limit)  # fmt: skip
    assert len(agent.made) == 3


def test_a_canary_whose_replies_tell_no_tokens_ends_after_one(tmp_path, uncaptioned):
    agent = Function(replies=("A",))
    for calls in (1, 2):  # it may have been mended
        limit = SpendLimit(max_cost=10, prices=PRICES)
        with pytest.raises(AgentError, match=r"canary: the reply does not tell its tokens") as e:
            run_replays(agent, uncaptioned, k=1, store=tmp_path / "run", seed=1, media=tmp_path,
                        agent_spec={"model": "m"}, limit=limit)  # fmt: skip
        assert "\n" not in str(e.value)
        assert len(agent.made) == limit.calls == calls


def test_duplicates_were_paid_for_too(tmp_path):
    agent = Function(tokens=lambda draw: {"prompt_tokens": 1000, "completion_tokens": 0})
    for store in ("a", "b"):
        run_replays(agent, QUESTIONS[:2], k=1, store=tmp_path / store, seed=1)
    [segment] = (tmp_path / "b/segments").iterdir()
    (tmp_path / "a/segments/0002.jsonl").write_bytes(segment.read_bytes()[:-5])
    limit = SpendLimit(max_calls=100, prices=PRICES)
    run_replays(agent, QUESTIONS[:2], k=1, store=tmp_path / "a", seed=1, limit=limit)
    assert limit.calls == 12  # 6, 5 again, and a torn line
    assert limit.cost == 12 * Fraction(3, 10)


def test_a_limit_is_no_part_of_the_plan_and_can_be_used_again(tmp_path):
    limit = SpendLimit(max_calls=5)
    run_replays(Function(), QUESTIONS, k=1, store=tmp_path / "a", seed=1, limit=limit)
    run_replays(Function(), QUESTIONS, k=1, store=tmp_path / "b", seed=1, limit=limit)
    assert limit.calls == 5
    assert run_replays(Function(), QUESTIONS, k=1, store=tmp_path / "a", seed=1).finished


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "max_calls or max_cost"),
        ({"max_calls": 0}, "max_calls=0 must be a whole number of at least 1"),
        ({"max_calls": True}, "max_calls=True"),
        ({"max_calls": 2.0}, "max_calls=2.0"),
        ({"max_cost": 1}, "needs prices"),
        ({"max_cost": 0, "prices": PRICES}, "max_cost=0 must be an amount of money above 0"),
        ({"max_cost": -1, "prices": PRICES}, "max_cost=-1"),
        ({"max_cost": float("nan"), "prices": PRICES}, "max_cost=nan"),
        ({"max_cost": float("inf"), "prices": PRICES}, "max_cost=inf"),
        ({"max_cost": "5", "prices": PRICES}, "max_cost='5'"),
        ({"max_cost": 1, "prices": "absent.toml"}, "absent.toml"),
    ],
)
def test_impossible_limits(arguments, said):
    with pytest.raises(InputError) as raised:
        SpendLimit(**arguments)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_something_else_is_no_limit(tmp_path):
    with pytest.raises(InputError, match="must be a SpendLimit"):
        run_replays(Function(), QUESTIONS, k=1, store=tmp_path / "run", seed=1, limit=100)
    assert not (tmp_path / "run").exists()


FAR_AGENT = """
import os, time, uuid

def answer(request):
    open(os.path.join(os.environ["CALLS"], uuid.uuid4().hex), "w").close()
    time.sleep(0.02)
    return "A"
"""
FAR_CONFIG = """
[run]
seed = 5
k = 4
store = "run"
engine = "ray"
workers = 3
[input]
trajectories = "questions.jsonl"
[agent]
use = "python:far_paid_agent:answer"
"""


@pytest.mark.slow
def test_ray_makes_no_more_calls_than_allowed(tmp_path):
    (tmp_path / "far_paid_agent.py").write_text(FAR_AGENT)
    (tmp_path / "audit.toml").write_text(FAR_CONFIG)
    (tmp_path / "calls").mkdir()
    write_trajectories(tmp_path / "questions.jsonl", QUESTIONS)
    for most in (10, 31):
        result = subprocess.run(
            [sys.executable, "-m", "carve_stats", "replay", "audit.toml", "--max-calls", str(most)],
            env={**os.environ, "CALLS": str(tmp_path / "calls")},
            cwd=tmp_path, text=True, capture_output=True, timeout=240,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert f"stopped at --max-calls {most} ({most} made)" in result.stdout
        assert len(list((tmp_path / "calls").iterdir())) == most
    assert RunStore.load(tmp_path / "run").progress.status().duplicates == 0
