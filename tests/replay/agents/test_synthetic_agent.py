"""The synthetic agent: flips as often as it was told to, and nothing else."""

import math

import numpy as np
import pytest

from carve_stats.errors import InputError
from carve_stats.replay.agents import load_agent
from carve_stats.replay.agents.synthetic import SyntheticAgent, synthetic_trajectories
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayRequest
from carve_stats.replay.store import RunStore
from carve_stats.testing.conformance import verify_agent


def request(seed, p, *, condition="sham", answer="B", options="ABCD"):
    return ReplayRequest(
        question_id="q", video_id=None, condition=condition, repetition=0, attempt=0, question="",
        options=dict.fromkeys(options, ""), evidence=(), seed=seed,
        frozen={"answer": answer, "p_self": 0.0, "p_sham": p, "p_destroy": 1.0},
    )  # fmt: skip


def test_it_keeps_the_contract_and_is_the_one_that_reads_the_condition():
    verification = verify_agent(
        SyntheticAgent(), requests=[request(seed, 0.3) for seed in (0, 2**52, 2**53 - 1)]
    )
    assert [check.name for check in verification.failed] == ["condition"]


def test_flips_and_other_options_have_their_probabilities():
    # Evenly spaced seeds stand for the uniform law: shares are then right to one part in n.
    n = 12_000
    answers = [SyntheticAgent()(request(int((i + 0.5) / n * 2**53), 0.3)) for i in range(n)]
    share = {label: answers.count(label) / n for label in "ABCD"}
    assert share["B"] == pytest.approx(0.7, abs=2 / n)
    for other in "ACD":
        assert share[other] == pytest.approx(0.1, abs=2 / n)


@pytest.mark.parametrize("seed", [0, 1, 2**52, 2**53 - 1])
def test_certain_outcomes(seed):
    agent = SyntheticAgent()
    assert agent(request(seed, 0.0)) == "B"
    assert agent(request(seed, 1.0)) in "ACD"
    assert agent(request(seed, 0.0, condition="destroy")) in "ACD"
    assert agent(request(seed, 1.0, condition="self")) == "B"
    assert agent(request(seed, 1.0, options="AB")) == "A"


def test_a_tiny_probability_picks_an_option_that_exists():
    p = math.nextafter(0.0, 1.0)
    assert SyntheticAgent()(request(0, p)) == "A"
    assert SyntheticAgent()(request(2**53 - 1, math.nextafter(1.0, 0.0))) in "ABCD"


def test_rates_through_the_loop(tmp_path, rng):
    n, k = 400, 5
    asked = synthetic_trajectories(np.full(n, 0.25), np.full(n, 0.75), p_self=0.0)
    run_replays(load_agent("synthetic"), asked, k=k, store=tmp_path, seed=11)
    flips = {"self": 0, "sham": 0, "destroy": 0}
    for record in RunStore.load(tmp_path).records():
        flips[record.condition] += record.flip
    spread = 5 * math.sqrt(0.25 * 0.75 * n * k)
    assert flips["self"] == 0
    assert abs(flips["sham"] - 0.25 * n * k) < spread
    assert abs(flips["destroy"] - 0.75 * n * k) < spread


def test_trajectories_hold_the_population():
    made = synthetic_trajectories(
        [0.1, 0.2], [0.3, 0.4], p_self=[0.0, 1.0], question=["x", "y"], cluster=["v", "w"]
    )
    assert [(t.question_id, t.video_id) for t in made] == [("x", "v"), ("y", "w")]
    assert made[1].frozen == {"answer": "B", "p_self": 1.0, "p_sham": 0.2, "p_destroy": 0.4}
    assert [t.answer for t in made] == ["A", "B"]
    assert [t.question_id for t in synthetic_trajectories([0] * 11, [0] * 11)][::10] == [
        "q00", "q10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 1.5], [0, 0]), "p_sham=1.5 in row 1 must be in"),
        (([0.5], [math.nan]), "p_destroy=nan in row 0"),
        (([0.5, 0.5], [0.5]), r"p_destroy has shape \(1,\)"),
    ],
)
def test_no_probability(arguments, message):
    with pytest.raises(InputError, match=message):
        synthetic_trajectories(*arguments)


def test_ids_of_another_length():
    with pytest.raises(InputError, match="question has 1 entries and p_sham 2"):
        synthetic_trajectories([0, 0], [1, 1], question=["a"])
    with pytest.raises(InputError, match="p_self has shape"):
        synthetic_trajectories([0, 0], [1, 1], p_self=[0.5])
