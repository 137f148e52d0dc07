"""Right estimators pass, whatever they take and return; what cannot be read is refused in words."""

import subprocess
import sys
from fractions import Fraction

import misread_estimators as misread
import numpy as np
import pandas as pd
import pytest
from right_estimators import RIGHT, Audit, Logged, decimals, fractions

import carve_stats as cs
from carve_stats.errors import InputError
from carve_stats.testing.flips import Flips
from carve_stats.testing.signatures import read_signature, signatures


@pytest.fixture(autouse=True)
def _few_longer_questions(monkeypatch):
    monkeypatch.setattr("carve_stats.testing.search.LARGEST", 3)  # one is tried on more below
    monkeypatch.setattr("carve_stats.testing.search.LONGER", 10)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_estimator_passes(name):
    function, _ = RIGHT[name]
    verification = cs.verify_estimator(function, k=3)
    assert verification.passed, str(verification)
    assert not verification.failed


@pytest.mark.parametrize("name", RIGHT)
def test_one_signature_and_no_other_is_the_functions(name):
    from carve_stats.testing.signatures.reading import parameters_of

    function, signature = RIGHT[name]
    parameters = parameters_of(function)
    claims = [n for n, m in signatures().items() if m.read(parameters, declared=False) is not None]
    assert claims == [signature]


def test_all_pairs_of_sequences_up_to_five_are_tried_by_default(monkeypatch):
    monkeypatch.undo()
    seen = set()

    def counted(sham, destroy):
        seen.add((tuple(sham), tuple(destroy)))
        return fractions(sham, destroy)

    verification = cs.verify_estimator(counted)
    assert verification.passed
    arms = sum(3**k for k in range(6))
    small = {pair for pair in seen if max(map(len, pair)) <= 5}
    assert len(small) == arms**2 == 132496
    assert "132,496" in verification.tried
    counts = {
        tuple((len(arm), sum(arm)) for arm in pair) for pair in seen if None not in sum(pair, ())
    }
    grid = [(k, x) for k in range(13) for x in range(k + 1)]
    assert {(sham, destroy) for sham in grid for destroy in grid} <= counts
    longer = [pair for pair in seen if max(map(len, pair)) > 5]
    assert max(max(map(len, pair)) for pair in longer) > 20
    assert any(None in sham + destroy for sham, destroy in longer)
    assert any(None not in sham + destroy and len(sham) > 10 for sham, destroy in longer)


def test_what_does_not_apply_says_so():
    verification = cs.verify_estimator(RIGHT["four_counts"][0], k=2)
    order, invalid, own = (verification[n] for n in ("order", "invalid replays", "self"))
    assert (order.passed, invalid.passed, own.passed) == (None, None, None)
    assert order.note == "it is given counts, which have no order"
    assert invalid.note == "it is only given valid replays"
    assert cs.verify_estimator(RIGHT["tuples_and_self"][0], k=1)["self"].passed is True


def test_a_decimal_is_on_the_wrong_side_of_two_thirds():
    failed = cs.verify_estimator(decimals, k=3).failed
    assert [check.name for check in failed] == ["thresholds"]


def test_names_that_mean_nothing_are_read_in_order_and_the_result_says_so():
    verification = cs.verify_estimator(lambda before, after: fractions(before, after), k=1)
    assert "before = SHAM, after = DESTROY" in verification.signature
    assert verification.notes[0].startswith("The names 'before' and 'after' do not say which arm")
    four = read_signature(lambda a, b, c, d: None, None)
    assert four.make(Flips((1, 0), (1,))) == ((), {"a": 1, "b": 2, "c": 1, "d": 1})


def test_a_declared_signature_is_used():
    def misleading(records):
        return fractions(records["sham"], records["destroy"])

    assert cs.verify_estimator(misleading, signature="mapping", k=2).passed
    wrong = cs.verify_estimator(misleading, k=2)
    assert wrong["runs"].counterexample.count("TypeError") == 1
    assert [check.passed for check in wrong.checks].count(True) == 1  # it leaves its input
    assert "raises" in wrong["runs"].counterexample


def test_adapt_calls_what_no_signature_fits():
    def scaled(pairs, *, scale):
        return fractions([s for s, _ in pairs], [d for _, d in pairs]) if pairs else None

    def adapt(sham, destroy, self_flips):
        n = max(len(sham), len(destroy))
        filled = [arm + [None] * (n - len(arm)) for arm in (sham, destroy)]
        return ([*zip(*filled, strict=True)],), {"scale": 1}

    with pytest.raises(InputError, match=r"parameters \(pairs, scale\).*adapt="):
        cs.verify_estimator(scaled)
    verification = cs.verify_estimator(scaled, adapt=adapt, k=3)
    assert verification.passed, str(verification)
    assert verification.signature == "what adapt makes of the flips"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("0.5", "returns '0.5', which is no score"),
        (True, "returns True, which is no score"),
        ([1, 2], "returns [1, 2], which is no score"),
        ({"p": 1}, "returns {'p': 1}, which is no score"),
        (1j, "returns 1j, which is no score"),
    ],
)
def test_a_result_that_is_no_score_is_told(result, words):
    verification = cs.verify_estimator(lambda sham, destroy: result, k=1)
    assert words in verification["runs"].counterexample
    assert verification["value"].passed is None  # nothing to look at


def test_infinity_is_a_value_and_a_wrong_one():
    verification = cs.verify_estimator(lambda sham, destroy: float("inf"), k=2)
    assert "says inf" in verification["value"].counterexample
    assert verification["unbiased"].passed is False
    assert verification["distribution"].passed is False


def test_an_estimator_that_exits_fails_in_words():
    def leaves(sham, destroy):
        sys.exit("no arguments")

    verification = cs.verify_estimator(leaves, k=1)
    assert "raises SystemExit: no arguments" in verification["runs"].counterexample
    assert not verification.passed


def test_a_value_error_with_valid_replays_is_a_failure():
    def shy(sham, destroy):
        if sum(f or 0 for f in sham):
            raise ValueError("too\nmany")
        return fractions(sham, destroy)

    words = cs.verify_estimator(shy, k=2)["runs"].counterexample
    assert words == (
        "SHAM 1 of 1 flipped (1), DESTROY 0 of 1 flipped (0): the function raises ValueError: too"
        " many"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3}, "estimator 'int' is int: give a function"),
        ({"function": "nowhere"}, "of the form 'package.module:function'"),
        ({"function": "math:no_such"}, "unknown name 'no_such'"),
        ({"function": "no_such_module_x:f"}, "cannot import 'no_such_module_x'"),
        ({"function": fractions, "k": 0}, "k=0 must be a whole number from 1 to 6"),
        ({"function": fractions, "k": True}, "k=True must be"),
        ({"function": fractions, "signature": "list"}, "did you mean 'lists'"),
        ({"function": fractions, "signature": "counts"}, "not those of signature='counts'"),
        ({"function": fractions, "signature": "lists", "adapt": print}, "give one"),
        ({"function": fractions, "adapt": lambda s, d, o: 3, "k": 1}, "adapt must take the lists"),
        ({"function": print}, "which cannot be told"),
        (
            {"function": misread.Scorer.score},
            r"is a method without its object: give .*Scorer\(...\)",
        ),
        ({"function": misread.pairs}, "adapt="),
        ({"function": misread.flips_by_condition}, "adapt="),
        ({"function": misread.texts}, "adapt="),
        ({"function": misread.tables}, "adapt="),
        ({"function": lambda sham: 0}, r"parameters \(sham\) are none that is known"),
        ({"function": lambda sham, destroy, alpha: 0}, r"\(sham, destroy, alpha\)"),
    ],
)
def test_wrong_input_is_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        cs.verify_estimator(**arguments)
    assert "\n" not in str(caught.value)


def test_a_module_of_the_working_directory_is_found_and_nothing_is_written(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "def delta(sham, destroy):\n"
        "    s, d = ([f for f in arm if f is not None] for arm in (sham, destroy))\n"
        "    if s and d:\n"
        "        return (sum(d) * len(s) - sum(s) * len(d)) / (len(s) * len(d))\n"
    )
    code = (
        "import carve_stats as cs, carve_stats.testing.search, random\n"
        "carve_stats.testing.search.LARGEST = 3\n"
        "before = random.getstate()\n"
        "print(cs.verify_estimator('theirs:delta', k=2).passed, random.getstate() == before)"
    )
    run = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "True True\n"
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.py"]


def test_a_class_is_called_with_flips():
    assert cs.verify_estimator(Audit, k=1).subject == "estimator Audit"


def test_without_hypothesis_one_line_says_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from carve_stats.errors import MissingExtraError\n"
        "try:\n    import carve_stats.testing\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == (
        "carve_stats.testing needs Hypothesis: pip install 'carve-stats[testing]'\n"
    )


def test_progress_is_told_to_the_end():
    told = []
    cs.verify_estimator(fractions, k=2, progress=lambda done, total: told.append((done, total)))
    total = told[0][1]
    assert total > 169
    assert told[0] == (0, total)
    assert told[-1] == (total, total)


def test_exact_values_must_be_exact():
    def nearly(sham, destroy):
        score = fractions(sham, destroy)
        return None if score is None else score + Fraction(1, 10**30)

    assert "value" in [check.name for check in cs.verify_estimator(nearly, k=1).failed]


@pytest.mark.parametrize("name", ["records_without_self", "all_else_is_destroy", "rows_of_arms"])
def test_self_replays_are_left_out_where_only_that_is_understood(name):
    verification = cs.verify_estimator(RIGHT[name][0], k=2)
    assert verification.signature.endswith(", and no SELF replays")
    assert verification["self"].passed is None
    assert verification["self"].note == "it takes no SELF replays"


def test_self_replays_that_are_read_are_not_left_out():
    def subtracted(rows: list[dict]):
        arms = [[r["flip"] for r in rows if r["condition"] == c] for c in ("sham", "destroy")]
        own = [r["flip"] for r in rows if r["condition"] == "self" and r["flip"] is not None]
        score = fractions(*arms)
        return score if score is None else score - sum(own)

    verification = cs.verify_estimator(subtracted, k=2)
    assert [check.name for check in verification.failed] == ["self"]


def test_tables_and_objects_are_compared_safely(monkeypatch):
    monkeypatch.setattr("carve_stats.testing.search.LARGEST", 1)

    class Held:
        def __init__(self, arm):
            self.arm = arm

    def table(frame, held):
        kept = frame.dropna()
        arms = [[*kept["flip"][kept["arm"] == arm]] for arm in ("sham", "destroy")]
        return fractions(*[[int(flip) for flip in arm] for arm in arms])

    def adapt(sham, destroy, self_flips):
        arms = [*["sham"] * len(sham), *["destroy"] * len(destroy)]
        frame = pd.DataFrame({"arm": arms, "flip": np.array(sham + destroy, dtype=float)})
        return (frame, Held(sham)), {}

    def spoils(frame, held):
        score = table(frame, held)
        frame["flip"] = 0.0
        return score

    verification = cs.verify_estimator(table, adapt=adapt, k=1)
    assert verification.passed, str(verification)
    assert verification["input"].passed is True
    assert [c.name for c in cs.verify_estimator(spoils, adapt=adapt, k=1).failed] == ["input"]


def test_what_cannot_be_compared_is_not_checked():
    def adapt(sham, destroy, self_flips):
        return (sham, destroy, object()), {}

    verification = cs.verify_estimator(lambda s, d, _: fractions(s, d), adapt=adapt, k=1)
    assert verification.passed
    assert verification["input"].passed is None


async def awaited(sham, destroy):
    return fractions(sham, destroy)


def yields(sham, destroy):
    yield fractions(sham, destroy)


def silent(sham, destroy):
    raise ValueError


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (awaited, "the function is async and returns a coroutine: give a plain function"),
        (yields, "the function is a generator: give a function that returns the score"),
        (silent, "the function raises ValueError without a word"),
    ],
)
def test_what_never_gives_a_score_is_told_why(function, words):
    assert cs.verify_estimator(function, k=1)["runs"].counterexample.endswith(words)


def test_what_it_prints_is_dropped(capsys):
    def talks(sham, destroy):
        print("called")
        print("called", file=sys.stderr)
        return fractions(sham, destroy)

    assert cs.verify_estimator(talks, k=1).passed
    assert capsys.readouterr() == ("", "")


def test_what_differs_by_little_is_not_shown_as_the_same():
    def nearly(sham, destroy):
        score = fractions(sham, destroy)
        return None if score is None else score + Fraction(1, 10**30)

    words = cs.verify_estimator(nearly, k=1)["unbiased"].counterexample
    assert "is 1/4 + 1e-30, not p_destroy − p_sham = 1/4" in words


@pytest.mark.parametrize("missing", [pd.NA, np.ma.masked, float("nan"), None])
def test_what_other_packages_call_missing_is_undefined(missing):
    def given(sham, destroy):
        score = fractions(sham, destroy)
        return missing if score is None else score

    assert cs.verify_estimator(given, k=1).passed


def test_self_replays_that_are_counted_with_destroy_ones_are_told():
    def delta(rows: list[Logged]):
        sham = [r.flip for r in rows if r.condition == "SHAM"]
        return fractions(sham, [r.flip for r in rows if r.condition != "SHAM"])

    verification = cs.verify_estimator(delta, k=2)
    assert verification.passed
    assert verification["self"].passed is None
    assert any("counts them as SHAM or DESTROY" in note for note in verification.notes)


def test_self_replays_are_looked_at_from_many():
    def delta(sham, destroy, self_flips):
        own = [f for f in self_flips if f is not None]
        score = fractions(sham, destroy)
        return score if score is None or len(own) < 3 else score - Fraction(sum(own), 3)

    check = cs.verify_estimator(delta, k=2)["self"]
    assert check.passed is False
    assert "SELF 1 of 3 flipped" in check.counterexample


def test_json_says_smallest_of_counterexamples_alone():
    checks = cs.verify_estimator(lambda sham, destroy: 0.0, k=1).to_dict()["checks"]
    assert {c["smallest"] for c in checks if c["passed"] is not False} == {None}
    assert None not in {c["smallest"] for c in checks if c["passed"] is False}
