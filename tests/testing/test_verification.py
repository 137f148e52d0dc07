"""What a verification says of itself."""

import json

import pytest

from carve_stats.testing import Check, Verification

HOLDS = Check("value", True, None, "is the score")
FAILS = Check("sign", False, "SHAM <0>: the score is 1", "has its sign")
NOT_LOOKED_AT = Check("self", None, None, "it is not given SELF replays")


def verification(*checks):
    return Verification("estimator f", "two lists", "9 cases", checks, ("x flips",))


@pytest.mark.parametrize(
    ("checks", "passed", "verdict"),
    [
        ((HOLDS, NOT_LOOKED_AT), True, "estimator f: passed: 1 check"),
        ((HOLDS, FAILS, NOT_LOOKED_AT), False, "estimator f: FAILED: 1 of 2 checks"),
        ((NOT_LOOKED_AT,), False, "estimator f: FAILED: nothing could be checked"),
        ((), False, "estimator f: FAILED: nothing could be checked"),
    ],
)
def test_passed_needs_something_checked_and_nothing_failed(checks, passed, verdict):
    result = verification(*checks)
    assert result.passed is passed
    assert str(result).splitlines()[0] == verdict


def test_text_shows_every_check_and_the_counterexample():
    assert str(verification(HOLDS, FAILS, NOT_LOOKED_AT)).splitlines() == [
        "estimator f: FAILED: 1 of 2 checks",
        "  * called with two lists",
        "  * tried on 9 cases",
        "",
        "Smallest counterexamples:",
        "  * sign: SHAM <0>: the score is 1",
        "",
        "check  result       property",
        "-----  -----------  ----------------------------",
        "value  passed       is the score",
        "sign   FAILED       has its sign",
        "self   not checked  it is not given SELF replays",
        "",
        "  * x flips",
    ]


def test_a_counterexample_that_may_not_be_the_smallest_is_not_called_so():
    drawn = Check("order", False, "SHAM 3", "no order", smallest=False)
    assert "Smallest" not in str(verification(drawn))
    lines = str(verification(FAILS, drawn)).splitlines()
    at = lines.index("Counterexamples; there may be smaller ones:")
    assert lines[at + 1] == "  * order: SHAM 3"
    assert lines.index("Smallest counterexamples:") < at


def test_html_is_escaped_and_json_is_plain():
    result = verification(HOLDS, FAILS)
    assert "SHAM &lt;0&gt;" in result._repr_html_()
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["passed"] is False
    assert plain["checks"][1] == {
        "name": "sign",
        "passed": False,
        "counterexample": "SHAM <0>: the score is 1",
        "note": "has its sign",
        "smallest": True,
    }
    assert repr(result) == "<Verification of estimator f: FAILED: 1 of 2 checks>"


def test_a_check_is_had_by_name():
    assert verification(HOLDS, FAILS)["sign"] is FAILS
    with pytest.raises(KeyError, match="nothing"):
        verification(HOLDS)["nothing"]
