"""Strategies: what they draw is within bounds, reaches the edges, and shrinks to the plainest."""

import inspect
import json

import numpy as np
import pytest
from hypothesis import given, settings
from log_forms import count_by_hand

from carve_stats.errors import InputError
from carve_stats.testing import counts, flip_sequences, laws, logs, populations
from carve_stats.testing.smallest import find_smallest


@given(laws(min_k=2, max_k=4))
def test_laws_are_laws_within_bounds(law):
    assert 2 <= law.k_sham <= 4
    assert 2 <= law.k_destroy <= 4
    assert sum(law.signs()) == pytest.approx(1)


@given(laws(max_k=30, equal_k=True))
def test_laws_with_one_budget(law):
    assert law.k_sham == law.k_destroy


@given(populations(max_atoms=3, strata=True))
def test_populations_are_populations(population):
    assert 1 <= population.p_sham.size <= 3
    assert population.weights.sum() == pytest.approx(1)
    assert population.stratum is not None


@given(counts(min_questions=2, max_questions=4, min_k=1, max_k=3, invalid=False, clusters=True))
def test_counts_are_within_bounds(drawn):
    assert 2 <= len(drawn) <= 4
    assert drawn.scored.all()
    assert drawn.sham_replays.max() <= 3
    assert not drawn.sham_invalid.any()
    assert drawn.cluster is not None


@given(counts(equal_k=True, max_k=2))
def test_counts_with_one_budget(drawn):
    assert (drawn.sham_replays == 2).all()
    assert (drawn.destroy_replays == 2).all()


@given(flip_sequences(min_k=1, max_k=3, invalid=False))
def test_flip_sequences_are_within_bounds(flips):
    assert flips.valid
    assert all(1 <= len(arm) <= 3 for arm in flips[:2])


@settings(max_examples=50)
@given(logs(max_attempts=3, hostile_ids=True))
def test_the_counts_of_a_log_are_those_of_its_records(log):
    """The log tallies what it drew; a reader in plain Python tallies the records."""
    ours, theirs = log.counts(), count_by_hand(log.records)
    assert theirs.to_dict() == ours.to_dict()
    reasons = {reason: n for reason, n in theirs.ledger.left_out.items() if n}
    assert (theirs.ledger.read, theirs.ledger.used, reasons) == (
        ours.ledger.read, ours.ledger.used, dict(ours.ledger.left_out)
    )  # fmt: skip
    assert json.loads(json.dumps(log.records)) == log.records


def test_the_first_valid_attempt_can_be_chosen():
    def differs(log):
        return log.counts("first-valid").to_dict() != log.counts().to_dict()

    log = find_smallest(logs(), differs, tries=200)
    assert [one.get("attempt", 0) for one in log.records] == [0, 1]
    assert log.counts("first-valid").ledger.left_out == {"earlier attempt": 1}
    assert log.counts().ledger.left_out == {"invalid": 1, "later attempt": 1}


EDGES = {
    "an empty arm": (counts(), lambda c: not c.scored.all()),
    "ragged replays": (counts(), lambda c: np.unique(c.sham_replays).size > 1),
    "invalid replays": (counts(), lambda c: c.destroy_invalid.any()),
    "no clusters": (counts(), lambda c: c.cluster is None),
    "clusters": (counts(), lambda c: c.cluster is not None),
    "a certain flip": (laws(), lambda law: law.p_sham == 1),
    "no flip": (laws(), lambda law: law.p_destroy == 0),
    "unequal budgets": (laws(), lambda law: law.k_sham != law.k_destroy),
    "several atoms": (populations(), lambda p: p.p_sham.size > 3),
    "an invalid replay": (flip_sequences(), lambda f: not f.valid),
    "no replay": (flip_sequences(), lambda f: not f.sham),
    "a copy": (logs(), lambda log: "duplicate" in log.counts().ledger.left_out),
    "an attempt": (logs(), lambda log: "later attempt" in log.counts().ledger.left_out),
    "no flip field": (logs(), lambda log: "flip" not in log.records[0]),
    "no answer field": (logs(), lambda log: "answer" not in log.records[0]),
    "videos": (logs(), lambda log: log.videos),
    "unknown videos": (logs(), lambda log: not log.videos),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_reached(edge):
    strategy, is_there = EDGES[edge]
    assert find_smallest(strategy, is_there, tries=200) is not None


def test_counts_shrink_to_one_question():
    found = find_smallest(counts(), lambda c: (c.score_numerator > 0).any(), tries=100)
    assert (len(found), int(found.sham_replays[0]), int(found.destroy_replays[0])) == (1, 1, 1)


@pytest.mark.parametrize(
    ("strategy", "bounds", "message"),
    [
        (laws, {"min_k": 5, "max_k": 3}, "max_k=3 must be a whole number, at least min_k=5"),
        (laws, {"min_k": 0}, "min_k=0 must be a whole number, at least 1"),
        (counts, {"min_questions": 20}, "max_questions=12 must be .* at least min_questions=20"),
        (counts, {"min_k": 9}, "max_k=6 must be .* at least min_k=9"),
        (flip_sequences, {"min_k": -1}, "min_k=-1 must be"),
        (populations, {"max_atoms": 0}, "max_atoms=0 must be"),
        (logs, {"min_questions": 4}, "max_questions=3 must be"),
        (logs, {"max_k": 0}, "max_k=0 must be"),
        (
            logs, {"min_questions": 99, "max_questions": 99, "hostile_ids": True},
            "min_questions=99 must be at most",
        ),
    ],
)  # fmt: skip
def test_bounds_are_refused_by_their_names_before_anything_is_drawn(strategy, bounds, message):
    with pytest.raises(InputError, match=message):
        strategy(**bounds)


def test_the_signature_of_logs_is_that_of_its_options():
    assert "draw" not in inspect.signature(logs).parameters
