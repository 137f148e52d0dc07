"""Secrets do not stand in what is stored or shown."""

import pytest

from carve_stats.replay.loop import run_replays
from carve_stats.replay.redaction import REDACTED, redact
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

KEPT = [
    "",
    "Connection refused",
    "the answer is B",
    "GET https://example.org/v1/models?limit=3 gave 404",
    "task-force and risk-averse are words, sk- is a prefix",
    "mail someone@example.org",
]
TAKEN = [
    ("Incorrect API key provided: sk-proj-AbCdEf123456", "sk-proj-AbCdEf123456"),
    ("Incorrect API key provided: sk-proj-Ab*********456.", "sk-proj-Ab*********456"),
    ("headers: Authorization: Bearer abc.DEF-123456~x", "abc.DEF-123456~x"),
    ("cannot reach https://me:hunter2@example.org/v1", "hunter2"),
    ("GET http://example.org/v1?api_key=abcdef&n=3", "abcdef"),
    ("GET http://example.org/v1?n=3&token=abcdef", "abcdef"),
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


@pytest.mark.parametrize(("text", "secret"), TAKEN)
def test_what_has_the_form_of_one_goes(text, secret):
    assert secret not in redact(text)
    assert REDACTED in redact(text)


def test_given_secrets_go_and_the_longest_first():
    assert redact("a: pw, b: pw-long", "pw", "pw-long") == f"a: {REDACTED}, b: {REDACTED}"
    assert redact("nothing", "") == "nothing"


def test_values_of_the_environment_go_by_their_names(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", "correct horse battery")
    monkeypatch.setenv("MY_SERVICE_NAME", "a name that may be shown")
    monkeypatch.setenv("DEBUG_KEY", "1")
    text = "1: correct horse battery, a name that may be shown"
    assert redact(text) == f"1: {REDACTED}, a name that may be shown"


def test_neither_the_store_nor_an_error_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("VIDEO_API_KEY", "correct horse battery")

    def answer(request):
        if request.condition == "sham":
            raise ConnectionError("refused with key correct horse battery")
        raise RuntimeError("no such key: correct horse battery")

    asked = [Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"})]
    with pytest.raises(Exception, match="agent failed") as caught:
        run_replays(answer, asked, k=1, store=tmp_path, seed=1, conditions=["sham", "destroy"])
    assert "horse" not in str(caught.value)
    assert len(list(RunStore.load(tmp_path).records())) == 1
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"horse" not in file.read_bytes()
