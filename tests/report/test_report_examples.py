"""Which questions a report shows, and what it shows of them."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from carve_stats.counts import ReplayCounts
from carve_stats.report.examples import choose_questions


def counts_of(rows):
    x, m, y, n = zip(*rows, strict=True)
    return ReplayCounts([f"q{i}" for i in range(len(rows))], x, m, y, n)


def digest(question):
    return hashlib.sha256(question.encode()).hexdigest()


def test_each_sign_has_its_share_and_the_extremes_come_first():
    scores = [-3, -1, -1, -2, -1, -1, 0, 0, 0, 0, 0, 3, 3, 2, 1, 1]
    counts = counts_of([(max(0, -s), 3, max(0, s), 3) for s in scores])
    chosen = choose_questions(counts, counts.question)
    assert [group for _, group in chosen] == ["negative"] * 4 + ["tied"] * 4 + ["positive"] * 4
    shown = [scores[int(question[1:])] for question, _ in chosen]
    assert shown == [-3, -2, -1, -1, 0, 0, 0, 0, 3, 3, 2, 1]
    tied = [question for question, group in chosen if group == "tied"]
    assert tied == sorted((f"q{i}" for i in range(6, 11)), key=digest)[:4]


def test_a_short_group_leaves_its_places():
    counts = counts_of([(1, 3, 0, 3)] + [(0, 3, 1, 3)] * 20)
    groups = [group for _, group in choose_questions(counts, counts.question)]
    assert groups == ["negative"] + ["positive"] * 11


def test_scores_are_compared_exactly():
    # 1/10 + 1/5 is not 3/10 in floats: 7/10 − 4/10 and 1/2 − 1/5 are one score.
    counts = counts_of([(4, 10, 7, 10), (1, 5, 1, 2)])
    assert [q for q, _ in choose_questions(counts, ["q0", "q1"])] == sorted(
        ["q0", "q1"], key=digest
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3)).flatmap(
            lambda k: st.tuples(
                st.integers(0, k[0]), st.just(k[0]), st.integers(0, k[1]), st.just(k[1])
            )
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 15),
)
def test_only_scored_and_available_questions_and_as_many_as_there_are(rows, number):
    counts = counts_of(rows)
    available = counts.question.tolist()[::2]
    chosen = [question for question, _ in choose_questions(counts, available, number=number)]
    can_be = {q for q, scored in zip(counts.question, counts.scored, strict=True) if scored}
    can_be &= set(available)
    assert set(chosen) <= can_be
    assert len(set(chosen)) == len(chosen) == min(number, len(can_be))
