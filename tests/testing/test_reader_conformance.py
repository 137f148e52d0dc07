"""Readers: right ones pass, and each fault is named by its check."""

import json

import pandas
import pytest
from log_forms import count_by_hand

from carve_stats.counts import ReplayCounts
from carve_stats.errors import InputError
from carve_stats.logs.reader import read_replays
from carve_stats.testing.conformance import verify_reader


def failed(verification):
    return {check.name for check in verification.failed}


def as_json(records, folder):
    path = folder / "log.json"
    path.write_text(json.dumps(records))
    return path


def by_hand(**faults):
    """A reader of such files, and of lists of them, in plain Python; with faults on request."""

    def read(source):
        paths = source if isinstance(source, list) else [source]
        records = [one for path in paths for one in json.loads(path.read_text())]
        return count_by_hand(records, **faults)

    return read


def test_right_readers_pass():
    assert verify_reader(by_hand(), as_json).passed
    verification = verify_reader(read_replays, lambda records, folder: pandas.DataFrame(records))
    assert verification.passed, str(verification)


FAULTS = {
    # fault: (checks that must fail, records in the smallest log)
    "invalid_as_none": ({"invalid"}, 1),
    "invalid_as_flip": ({"invalid"}, 1),
    "last_attempt": ({"retries"}, 2),
    "copies_count": ({"duplicates"}, 2),
    "arms_swapped": ({"counts"}, 1),
    "last_record_lost": ({"counts", "accounting"}, 1),
    "numbers_as_ids": ({"ids"}, 1),
    "first_line_wins": ({"row order"}, 2),
    "no_ledger": ({"accounting"}, 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_wrong_reader_is_caught_with_a_smallest_log(fault):
    expected, records = FAULTS[fault]
    verification = verify_reader(by_hand(**{fault: True}), as_json)
    assert expected <= failed(verification), str(verification)
    for name in expected:
        shown = verification[name].counterexample
        assert shown.startswith(f"{records} record{'s' * (records > 1)} ("), shown


def test_a_wrong_reader_is_read_a_bounded_number_of_times_and_says_how_far_it_is():
    reads, told = [], []

    def read(source):
        reads.append(source)
        found = by_hand(last_attempt=True)(source)
        if len(found) > 1:
            raise ValueError("two questions")
        return found

    verification = verify_reader(read, as_json, progress=lambda *one: told.append(one))
    assert {"retries", "counts"} <= failed(verification)
    assert verification["counts"].smallest is False
    assert verification["counts"].counterexample.startswith("2 records (")
    assert len(reads) < 1000
    assert told == [(i, 8) for i in range(9)]


def test_a_reader_of_single_sources_says_so():
    verification = verify_reader(by_hand(), as_json, several=False)
    assert verification.passed
    assert verification["parts"].passed is None


def test_a_reader_that_raises_is_told_without_the_place_of_the_temporary_file():
    def read(path):
        raise ValueError(f"{path}: what is this?")

    found = verify_reader(read, as_json)["counts"].counterexample
    assert found.endswith("it raises ValueError: log.json: what is this?")
    assert isinstance(count_by_hand([]), ReplayCounts)


def test_a_reader_that_cannot_be_called_is_refused():
    with pytest.raises(InputError, match="read=5 must be callable, it is int"):
        verify_reader(5, as_json)
    with pytest.raises(InputError, match="write=None must be callable"):
        verify_reader(by_hand(), None)
