"""The compact table of flips is a dict of first records."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from carve_stats.replay.flip_table import FlipTable

KEYS = st.tuples(
    st.sampled_from(["q1", "q2", "q\0", ""]),
    st.sampled_from(["self", "sham", "destroy"]),
    st.integers(0, 40),
    st.integers(0, 3),
)


@given(st.lists(st.tuples(KEYS, st.sampled_from([None, 0, 1]))), st.lists(KEYS))
def test_it_is_a_dict_of_first_records(records, others):
    table, model = FlipTable(), {}
    for key, flip in records:
        assert table.add(key, flip) == (key not in model)
        model.setdefault(key, flip)
        assert len(table) == len(model)
    keys = list(table)
    assert len(keys) == len(set(keys))
    assert set(keys) == set(model)
    for key in [*model, *others]:
        assert table.get(*key) is model.get(key, ...)
        first = [r + 1 for q, c, r, attempt in model if (q, c, attempt) == (*key[:2], 0)]
        assert table.length(*key[:2]) == max(first, default=0)


def test_it_takes_few_bytes_a_replay():
    tracemalloc.start()
    try:
        table = FlipTable()
        for repetition in range(100):
            for question in range(500):
                for condition in ("sham", "destroy"):
                    table.add((f"q{question}", condition, repetition, 0), repetition % 2)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(table) == 100_000
    assert held < 6 * len(table)  # tuples in a dict take more than 200
