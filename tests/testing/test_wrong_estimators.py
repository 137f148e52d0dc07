"""Each deliberate fault is caught by the checks that should, with the smallest counterexample."""

import warnings

import pytest
from brute_force import counterexample_in, smallest
from wrong_estimators import WRONG, right

from carve_stats.testing import search, verify_estimator

VERDICTS = {}


def verified(name):
    if name not in VERDICTS:
        VERDICTS[name] = verify_estimator(WRONG[name][0], k=3)
    return VERDICTS[name]


@pytest.fixture(autouse=True)
def _few_longer_questions(monkeypatch):
    monkeypatch.setattr("carve_stats.testing.search.LARGEST", 3)
    monkeypatch.setattr("carve_stats.testing.search.LONGER", 10)  # small ones show these faults


@pytest.fixture(autouse=True)
def _means_of_nothing_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.parametrize("name", WRONG)
def test_the_checks_that_should_fail_do_and_no_others(name):
    verification = verified(name)
    assert not verification.passed
    assert {check.name for check in verification.failed} == WRONG[name][1]


@pytest.mark.parametrize(
    ("name", "check"),
    [(name, check) for name, (_, checks) in WRONG.items() for check in sorted(checks)],
)
def test_the_counterexample_is_the_smallest_there_is(name, check):
    words = verified(name)[check].counterexample
    found = counterexample_in(check, words)
    by_force = smallest(check, WRONG[name][0])
    if check == "unbiased" and isinstance(
        found[0], tuple
    ):  # a value missing among those of a budget
        found = tuple(map(len, found))
    assert found == by_force, words


BEYOND_TWO = {"naive_floats", "nan_means", "rounded_to_two_decimals", "single_precision"}


@pytest.mark.parametrize("name", sorted(set(WRONG) - BEYOND_TWO))
def test_two_replays_an_arm_are_enough_to_show_the_fault(name):
    verification = verified(name)
    found = [counterexample_in(c.name, c.counterexample) for c in verification.failed]
    largest = [max(part if isinstance(part, int) else len(part) for part in one) for one in found]
    assert min(largest) <= 2


@pytest.mark.parametrize("name", sorted(BEYOND_TWO))
def test_floats_need_three_replays_and_a_threshold_of_two_thirds_or_one_third(name):
    function, checks = WRONG[name]
    assert all(smallest(check, function, largest=2) is None for check in checks)
    words = verified(name)["thresholds"].counterexample
    assert "2/3" in words if name in ("naive_floats", "nan_means") else "1/3" in words
    assert max(map(len, counterexample_in("thresholds", words))) == 3


def test_the_counterexample_of_naive_floats_tells_the_mend():
    assert verified("naive_floats")["thresholds"].counterexample == (
        "SHAM 1 of 3 flipped (0, 0, 1), DESTROY 1 of 1 flipped (1): the score is 1/1 − 1/3 = 2/3,"
        " the function says 0.6666666666666667, so score <= 2/3 (as a float, 0.6666666666666666) is"
        " False; return (y·k_sham − x·k_destroy)/(k_sham·k_destroy), or compare whole numbers"
    )
    assert not 1 / 1 - 1 / 3 <= 2 / 3


def test_words_of_other_faults():
    said = {
        (
            "arms_swapped",
            "value",
        ): "SHAM 0 of 1 flipped (0), DESTROY 1 of 1 flipped (1): the score is"
        " 1/1 − 0/1 = 1, the function says -1",
        ("arms_swapped", "unbiased"): "1 SHAM and 1 DESTROY replay: at p_sham = 1/4 and p_destroy ="
        " 1/2 the expectation over all sequences is -1/4, not p_destroy − p_sham = 1/4",
        # p_sham q_destroy = 1/8 where it should be q_sham p_destroy = 3/8, and the reverse
        (
            "arms_swapped",
            "distribution",
        ): "1 SHAM and 1 DESTROY replay: at p_sham = 1/4 and p_destroy"
        " = 1/2 the score is -1 with probability 1/8, the function says it with probability 3/8",
        (
            "invalid_counted_as_no_flip",
            "invalid replays",
        ): "SHAM 0 of 1 flipped (0), DESTROY no valid"
        " replay (invalid): the function says 0; without the invalid replays it says undefined",
        ("undefined_as_zero", "undefined"): "SHAM no replay (), DESTROY no replay (): the score is"
        " undefined, the function says 0",
        (
            "self_subtracted",
            "self",
        ): "SHAM 0 of 1 flipped (0), DESTROY 0 of 1 flipped (0), SELF 1 of 1"
        " flipped (1): the function says -1; with 0 of 1 flipped (0) of SELF it says 0",
        (
            "only_the_first_replay",
            "order",
        ): "SHAM 0 of 1 flipped (0), DESTROY 1 of 2 flipped (0, 1):"
        " the function says 0; of SHAM 0 of 1 flipped (0), DESTROY 1 of 2 flipped (1, 0) it says 1,"
        " not 0",
        ("divides_by_zero", "runs"): "SHAM no replay (), DESTROY no replay (): the function raises"
        " ZeroDivisionError: Fraction(0, 0); without a valid replay in both arms return None or"
        " NaN, or raise ValueError",
    }
    for (name, check), words in said.items():
        assert verified(name)[check].counterexample == words


def test_what_only_shows_in_longer_questions_is_found_and_shrunk(monkeypatch):
    monkeypatch.undo()

    def first_seven(sham, destroy):
        kept = [[f for f in arm if f is not None][:7] for arm in (sham, destroy)]
        return WRONG["naive_floats"][0](*kept)

    verification = verify_estimator(first_seven, k=2)
    sham, destroy = counterexample_in("value", verification["value"].counterexample)
    assert len(sham + destroy) == 9  # eight replays, and one of the other arm
    assert (sham + destroy).count(1) == 1


def faulty(condition):
    """A fault of sign where a condition on the two arms, as they are given, holds."""

    def estimator(sham, destroy):
        score = right(sham, destroy)
        return -score if score is not None and condition(sham, destroy) else score

    return estimator


def kept(arm):
    return [flip for flip in arm if flip is not None]


@pytest.mark.parametrize(
    ("condition", "sham", "destroy"),
    [
        (lambda s, d: len(kept(s)) == 6, (0,) * 6, (1,)),
        (lambda s, d: len(kept(s)) == len(kept(d)) == 6, (0,) * 6, (0,) * 5 + (1,)),
        (lambda s, d: len(s) == 10, (0,) * 10, (1,)),
        (lambda s, d: (sum(kept(s)), len(kept(d))) == (7, 11), (0,) + (1,) * 7, (0,) * 11),
    ],
)
def test_no_counts_up_to_twelve_are_missed(monkeypatch, condition, sham, destroy):
    monkeypatch.setattr(search, "LARGEST", max(len(sham), len(destroy)))
    check = verify_estimator(faulty(condition), k=1)["value"]
    found = counterexample_in("value", check.counterexample)
    assert len(found[0] + found[1]) <= len(sham + destroy)
    assert condition(*found)
    assert check.smallest


def test_beyond_k_the_smallest_is_found():
    check = verify_estimator(WRONG["naive_floats"][0], k=2)["thresholds"]
    assert counterexample_in("thresholds", check.counterexample) == ((0, 0, 1), (1,))
    assert check.smallest


def test_invalid_replays_come_last_where_only_some_places_were_tried(monkeypatch):
    monkeypatch.setattr(search, "LARGEST", 7)
    fault = faulty(lambda s, d: None in s and len(s) >= 7)
    check = verify_estimator(fault, k=2)["invalid replays"]
    assert counterexample_in("invalid replays", check.counterexample) == ((0,) * 6 + (None,), (1,))
    assert not check.smallest


def test_what_was_drawn_is_not_called_the_smallest(monkeypatch):
    monkeypatch.setattr(search, "LONGER", 100)
    verification = verify_estimator(faulty(lambda s, d: len(s) + len(d) >= 30), k=1)
    assert not verification["value"].smallest
    assert "there may be smaller ones" in str(verification)
    assert len(sum(counterexample_in("value", verification["value"].counterexample), ())) == 30
