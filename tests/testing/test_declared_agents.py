"""What an agent declares of its replies is compared with them; evidence that it may not look at."""

import hashlib
import random

import pytest

from carve_stats.testing.conformance import verify_agent
from carve_stats.testing.conformance.agents import BLIND
from carve_stats.testing.conformance.requests import sample_requests
from carve_stats.testing.conformance.seeds import misdeclares


def seen(request):
    evidence = [(one.text, [f.data for f in one.frames]) for one in request.evidence]
    return int(hashlib.sha256(repr(evidence).encode()).hexdigest(), 16)


class Declared:
    def __init__(self, stochastic, answer):
        self.stochastic = stochastic
        self.answer = answer

    def __call__(self, request):
        return self.answer(request)


def by_prompt(request):
    return "ABCD"[seen(request) % 4]


def by_seed(request):
    return random.Random(request.seed).choice("ABCD")


def by_both(request):
    return random.Random(request.seed + seen(request)).choice("ABCD")


def seldom(request):
    """Draws for one kind of evidence only, as one whose other questions leave no choice."""
    if any("hedgehog" in (one.text or "") for one in request.evidence):
        return by_seed(request)
    return by_prompt(request)


def caching(request, kept={}):  # noqa: B006 (the cache)
    return kept.setdefault((request.question, seen(request)), by_both(request))


def engine_seed(request):
    """As a server that takes a seed, and uses its own."""
    return random.Random(0).choice("ABCD")


RIGHT = [(True, by_seed), (True, by_both), (True, seldom), (False, by_prompt)]


@pytest.mark.parametrize(("declared", "answer"), RIGHT)
def test_what_is_declared_rightly_passes(declared, answer):
    verification = verify_agent(Declared(declared, answer))
    assert verification["stochastic"].passed is True
    assert verification.passed, str(verification)


NEVER = "no prompt had two replies for 12 seeds; check that the seed"
WRONG = [
    (True, by_prompt, NEVER),
    (True, engine_seed, NEVER),
    (True, caching, NEVER),
    (False, by_seed, "question 'texts', sham, repetition 0, seed "),
    (False, by_both, "question 'texts', sham, repetition 0, seed "),
    (False, seldom, "question 'texts', sham, repetition 0, seed "),
    ("yes", by_seed, "it is 'yes', it must be True, False or None"),
]


@pytest.mark.parametrize(("declared", "answer", "said"), WRONG)
def test_what_is_declared_wrongly_is_told(declared, answer, said):
    check = verify_agent(Declared(declared, answer))["stochastic"]
    assert check.passed is False
    assert check.counterexample.startswith(said)


def test_a_counterexample_has_the_two_seeds():
    check = verify_agent(Declared(False, by_seed))["stochastic"]
    words = check.counterexample.split()
    first, second = int(words[words.index("seed") + 1].rstrip(":")), int(words[-14].rstrip(";"))
    one, other = (by_seed(type("R", (), {"seed": seed})) for seed in (first, second))
    assert one != other
    assert f"it answers {one!r}, and {other!r} with seed {second};" in check.counterexample


@pytest.mark.parametrize("answer", [by_prompt, by_seed, by_both])
def test_of_an_agent_that_declares_nothing_it_is_not_checked(answer):
    for agent in (answer, Declared(None, answer)):
        check = verify_agent(agent)["stochastic"]
        assert check.passed is None
        assert "no attribute stochastic" in check.note


def test_it_is_checked_of_an_agent_that_is_not_repeatable_too():
    rng = random.Random(1)

    def draws(request):
        return rng.choice("ABCD")

    assert verify_agent(Declared(True, draws), deterministic=False)["stochastic"].passed is True
    assert verify_agent(Declared(False, draws), deterministic=False)["stochastic"].passed is False


@pytest.mark.parametrize(("answer", "blind"), [(by_seed, True), (by_both, False)])
def test_at_one_seed_other_evidence_must_be_able_to_change_the_reply(answer, blind):
    assert (BLIND in verify_agent(answer).notes) is blind


def test_prompts_are_each_question_with_its_evidence_and_with_four_others():
    asked = []

    def answer(request):
        asked.append((request.question_id, seen(request), request.seed))
        return "A"

    assert misdeclares(Declared(False, answer), sample_requests()) is None
    assert len({(question, shown) for question, shown, _ in asked}) == 2 * 5
    assert len(asked) == len(set(asked)) == 2 * 5 * 12
