"""Estimators whose arguments would be misread, if what they do not say were guessed."""

from __future__ import annotations

import pandas

__all__ = ["Scorer", "flips_by_condition", "pairs", "tables", "texts"]


class Scorer:
    def score(self, sham, destroy):
        raise AssertionError("an object is missing")


def pairs(sham: tuple[int, int], destroy: tuple[int, int]):
    raise AssertionError("flips and replays of each arm were wanted")


def flips_by_condition(flips, conditions):
    raise AssertionError("flips of both arms were wanted, and their conditions")


def texts(first: list[str], second: list[bool]):
    raise AssertionError("one list holds texts")


def tables(sham: pandas.DataFrame, destroy: pandas.DataFrame):
    raise AssertionError("tables were wanted")
