"""The options of the `openai` agent: what is refused, and where the key may be."""

import pickle

import pytest
from openai_runs import options

from carve_stats.errors import InputError, MissingExtraError
from carve_stats.replay.agents import _chat_connection, load_agent

KEY = "sk-do-not-show-me-1234"
LOCAL = {"base_url": "http://localhost:8000/v1"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": ""}, "needs model"),
        ({"model": 3}, "needs model"),
        ({"temperature": -0.1}, "temperature=-0.1: it must be a number of at least 0"),
        ({"temperature": "0.7"}, "temperature='0.7'"),
        ({"temperature": True}, "temperature=True"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_tokens": 2.0}, "max_tokens=2.0"),
        ({"timeout": 0}, "timeout=0: it must be a number above 0"),
        ({"patience": -1}, "patience=-1"),
        ({"base_url": "localhost:8000"}, "an address like http://localhost:8000/v1"),
        ({"base_url": "ftp://host/v1"}, "an address like"),
        ({"base_url": "http://:80"}, "an address like"),
        ({"base_url": "http://host:x/v1"}, "an address like"),
        ({"base_url": "http://[::1/v1"}, "an address like"),
        ({"base_url": 8000}, "an address like"),
        ({"base_url": "http://host/v1?a=b"}, "end it at the path, as http://host/v1"),
        ({"extra": ["top_p"]}, "a table of further parameters"),
        ({"extra": {"model": "x"}}, "'model' in extra: take it out, it is an option"),
        ({"extra": {"seed": 1}}, "'seed' in extra: take it out, it sets that itself"),
        ({"extra": {"n": 2}}, "a replay is one whole reply"),
        ({"extra": {"stream": True}}, "a replay is one whole reply"),
        ({"extra": {"stop": object()}}, "use plain ones"),
        ({"api_key_env": "MY KEY"}, "the name of an environment variable"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "set the environment variable NOT_SET_ANYWHERE"),
    ],
)
def test_an_option_that_cannot_be_right_is_refused_on_one_line(given, said):
    with pytest.raises(InputError) as refusal:
        options(**{**LOCAL, **given})
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("agent 'openai' ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "given",
    [
        {"api_key": KEY},
        {"api_key_env": KEY},
        {"base_url": f"http://user:{KEY}@localhost/v1"},
        {"base_url": f"http://{KEY}@localhost/v1"},
        {"base_url": f"http://localhost/v1?key={KEY}"},
        {"base_url": f"localhost/{KEY}"},
        {"extra": {"api_key": KEY}},
        {"extra": {"Authorization": f"Bearer {KEY}"}},
    ],
)
def test_a_key_among_the_options_is_refused_and_not_shown(given):
    with pytest.raises(InputError) as refusal:
        load_agent("openai", **{"model": "m", **LOCAL, **given})
    assert KEY not in str(refusal.value)
    assert "environment variable" in str(refusal.value) or "base_url" in str(refusal.value)


def test_the_servers_own_address_needs_a_key_and_another_does_not(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="set the environment variable OPENAI_API_KEY"):
        load_agent("openai", model="m")
    assert load_agent("openai", model="m", **LOCAL).fingerprint()["base_url"] == LOCAL["base_url"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway/v1/")
    assert load_agent("openai", model="m").fingerprint()["base_url"] == "http://gateway/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    agent = load_agent("openai", model="m")
    assert agent.fingerprint()["base_url"] == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-with a\tin it")
    with pytest.raises(InputError, match="characters that no key has"):
        load_agent("openai", model="m")


def test_nothing_that_an_agent_gives_away_holds_its_key(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    agent = load_agent("openai", model="m", api_key_env="MY_KEY")
    shown = [repr(agent), repr(vars(agent)), repr(agent.fingerprint())]
    assert not any(KEY in text for text in shown)
    assert KEY.encode() not in pickle.dumps(agent)
    assert repr(agent) == "<OpenAIAgent: m at https://api.openai.com/v1>"


@pytest.mark.parametrize(
    ("temperature", "stochastic"), [(None, None), (0, False), (0.0, False), (0.4, True), (1, True)]
)
def test_only_a_temperature_says_whether_replays_vary(temperature, stochastic):
    agent = load_agent("openai", model="m", temperature=temperature, **LOCAL)
    assert agent.stochastic is stochastic


def test_the_fingerprint_holds_what_decides_replies_and_not_how_long_one_waits():
    given = {"temperature": 0.5, "max_tokens": 9, "extra": {"top_p": 0.9}, **LOCAL}
    agent = load_agent("openai", model="m", **given)
    assert agent.fingerprint() == {"name": "openai", "model": "m", "prompt": "1", **given}
    patient = load_agent("openai", model="m", timeout=5, patience=7, **given)
    assert patient.fingerprint() == agent.fingerprint()
    for name, other in (("temperature", 0.6), ("max_tokens", 8), ("extra", {"top_p": 0.8})):
        assert load_agent("openai", model="m", **{**given, name: other}).fingerprint() != (
            agent.fingerprint()
        )


def test_without_its_client_library_the_agent_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(_chat_connection, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'carve-stats\[replay\]'"):
        load_agent("openai", model="m", **LOCAL)


def test_a_key_that_is_no_secret_does_not_blot_out_texts(monkeypatch):
    for key, secrets in (("EMPTY", []), (KEY, [KEY])):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert options(**LOCAL).secrets() == secrets
