"""The configuration file: what it gives, and what it refuses by name."""

from pathlib import Path

import pytest

from carve_stats.errors import ConfigError
from carve_stats.replay.config import NamedOptions, StoppingOptions, read_config
from carve_stats.replay.evidence.frames import Encoder

LEAST = """
[run]
store = "runs/demo"
seed = 1
k = 3
[input]
trajectories = "in/questions.jsonl"
[agent]
use = "synthetic"
"""
FULL = """
[run]
store = "runs/demo"
seed = 12
k = { self = 1, sham = 3, destroy = 10 }
conditions = ["destroy", "sham", "self"]
attempts = 2
workers = 4
crop = 0.01
[input]
trajectories = "/data/questions.jsonl"
media = "frames"
[agent]
use = "python:mine:answer"
temperature = 0.4
servers = ["a", "b"]
[operator]
name = "phase"
rounds = 3
[encoder]
format = "png"
[stopping]
rule = "score < 1/3"
order = "alternate"
minimum = [0, 2]
pilot = "pilot.jsonl"
changed = 0
"""


def write(folder, text):
    path = folder / "run.toml"
    path.write_text(text)
    return path


def test_the_least(tmp_path):
    config = read_config(write(tmp_path, LEAST))
    assert config.store == tmp_path / "runs" / "demo"
    assert config.trajectories == tmp_path / "in" / "questions.jsonl"
    assert config.media == tmp_path / "in"
    assert (config.seed, config.k, config.attempts, config.workers) == (1, 3, 1, 1)
    assert config.conditions == ("self", "sham", "destroy")
    assert config.agent == NamedOptions("synthetic")
    assert config.operator == NamedOptions("phase")
    assert (config.encoder, config.crop) == (Encoder(), 0.02)
    assert config.stopping is None


def test_everything(tmp_path):
    config = read_config(write(tmp_path, FULL))
    assert config.k == {"destroy": 10, "sham": 3, "self": 1}
    assert config.conditions == ("destroy", "sham", "self")
    assert (config.seed, config.attempts, config.workers, config.crop) == (12, 2, 4, 0.01)
    assert config.trajectories == Path("/data/questions.jsonl")
    assert config.media == tmp_path / "frames"
    assert config.agent == NamedOptions(
        "python:mine:answer", {"temperature": 0.4, "servers": ["a", "b"]}
    )
    assert config.operator == NamedOptions("phase", {"rounds": 3})
    assert config.encoder == Encoder("png")
    assert config.stopping == StoppingOptions(
        rule="score < 1/3", order="alternate", minimum=(0, 2), pilot=tmp_path / "pilot.jsonl"
    )


def test_overrides_win_and_their_paths_are_the_command_lines(tmp_path):
    path = write(tmp_path, FULL)
    config = read_config(path, k=5, store="elsewhere", workers=None, media=tmp_path / "m", seed=0)
    assert (config.k, config.store, config.workers, config.seed) == (5, Path("elsewhere"), 4, 0)
    assert config.media == tmp_path / "m"


def test_stopping_is_asked_for_by_the_file_or_by_overrides(tmp_path):
    path = write(tmp_path, LEAST)
    assert read_config(path, rule="sign").stopping == StoppingOptions(rule="sign")
    path = write(tmp_path, FULL)
    assert read_config(path, rule="sign", minimum=[1, 1], pilot="here.csv").stopping == (
        StoppingOptions(rule="sign", order="alternate", minimum=(1, 1), pilot=Path("here.csv"))
    )


def test_a_share_of_changed_decisions(tmp_path):
    stopping = '[stopping]\nrule = "sign"\nchanged = 0.01\n'
    config = read_config(write(tmp_path, LEAST + stopping))
    assert config.stopping == StoppingOptions(rule="sign", changed=0.01)
    assert read_config(write(tmp_path, LEAST + stopping), changed=0.0).stopping.changed == 0.0


def test_an_override_fills_in_what_is_missing(tmp_path):
    path = write(tmp_path, LEAST.replace('store = "runs/demo"', ""))
    assert read_config(path, store="here").store == Path("here")


BAD = [
    ("[run]", "[runs]", "unknown table 'runs'.*did you mean 'run'"),
    ("seed = 1", "sede = 1", r"\[run\]: unknown entry 'sede'.*did you mean 'seed'"),
    ("seed = 1", "", r"\[run\] needs the entry seed"),
    ("k = 3", "", r"\[run\] needs the entry k"),
    ('store = "runs/demo"', "", r"\[run\] needs the entry store"),
    ('store = "runs/demo"', "store = 3", r"\[run\] store=3 must be a string"),
    ('use = "synthetic"', "", r"\[agent\] needs the entry use"),
    ('use = "synthetic"', "use = 3", r"\[agent\] use=3 must be a string"),
    ('trajectories = "in/questions.jsonl"', "", r"\[input\] needs the entry trajectories"),
    ("seed = 1", "seed = -1", r"seed=-1 must be a whole number of at least 0"),
    ("seed = 1", "seed = true", r"seed=True must be a whole number"),
    ("k = 3", "k = 0", r"k=0 must be a whole number of at least 1"),
    ("k = 3", "k = 3000000000", r"\[run\] k must be at most 1000000"),
    ("k = 3", "k = {self = 1, sham = 3, destroy = 1000001}", r"k of destroy must be at most"),
    ("k = 3", "k = " + "9" * 5000, r"not a TOML file: .*digits"),
    ('store = "runs/demo"', 'store = "runs\\u0000demo"', r"\[run\] store=.*a NUL character"),
    ("k = 3", "k = 2.5", r"k=2.5 must be a whole number"),
    ("k = 3", "k = {sham = 3}", r"\[run.k\] needs the entry self"),
    ("k = 3", "k = {self = 1, sham = 3, destory = 3}", r"\[run.k\]: unknown condition 'destory'"),
    ("k = 3", "k = 3\nattempts = 0", r"attempts=0 must be"),
    ("k = 3", 'k = 3\nworkers = "4"', r"workers='4' must be"),
    ("k = 3", 'k = 3\nengine = "rya"', r"\[run\] engine='rya' must be one of local, ray"),
    ("k = 3", 'k = 3\ncanary = "on"', r"\[run\] canary='on' must be one of stop, warn, off"),
    ("k = 3", 'k = 3\nstochastic = "no"', r"\[run\] stochastic='no' must be true or false"),
    ("k = 3", "k = 3\ncrop = 1", r"crop=1 must be a number in"),
    ("k = 3", "k = 3\ncrop = nan", r"crop=nan must be a number in"),
    ("k = 3", 'k = 3\nconditions = ["shame"]', r"unknown condition 'shame'"),
    ("k = 3", 'k = 3\nconditions = "sham"', r"conditions='sham' must be a list"),
    ("[agent]", '[encoder]\nformat = "jpg"\n[agent]', r"\[encoder\] format='jpg' must be one of"),
    ("[agent]", "[encoder]\nformat = 3\n[agent]", r"\[encoder\] format=3 must be a string"),
    ("[agent]", "[encoder]\nquality = 0\n[agent]", r"\[encoder\] quality=0 must be"),
    ("[agent]", "[encoder]\nquality = 9.5\n[agent]", r"\[encoder\] quality=9.5 must be a whole"),
    ("[agent]", "[encoder]\nqualty = 9\n[agent]", r"\[encoder\]: unknown entry 'qualty'"),
    ("[agent]", "[operator]\nrounds = 3\n[agent]", r"\[operator\] needs the entry name"),
    ("[agent]", "[stopping]\n[agent]", r"\[stopping\] needs the entry rule, or the option --stop"),
    ("[agent]", '[stopping]\norder = "optimal"\n[agent]', r"\[stopping\] needs the entry rule"),
    ("[agent]", "[stopping]\nrule = 0\n[agent]", r"\[stopping\] rule=0 must be a string"),
    ("[agent]", '[stopping]\nrules = "sign"\n[agent]', r"unknown entry 'rules'.*mean 'rule'"),
    ("[agent]", '[stopping]\nrule = "sign"\nminimum = 3\n[agent]', r"minimum=3 must be two whole"),
    ("[agent]", '[stopping]\nrule = "sign"\nminimum = [1, -1]\n[agent]', r"minimum=\[1, -1\] must"),
    ("[agent]", '[stopping]\nrule = "sign"\nminimum = [1, true]\n[agent]', r"minimum=\[1, True\]"),
    ("[agent]", '[stopping]\nrule = "sign"\npilot = ""\n[agent]', r"\[stopping\] pilot='' must be"),
    ("[agent]", '[stopping]\nrule = "sign"\nchanged = 1\n[agent]', r"changed=1 \(--changed\) must"),
    ("[agent]", '[stopping]\nrule = "sign"\nchanged = nan\n[agent]', r"changed=nan .* must be a"),
    ("[agent]", '[stopping]\nrule = "sign"\nchanged = true\n[agent]', r"changed=True .* must be"),
    ("[agent]", '[stopping]\nrule = "sign"\nchanged = 0.1\norder = "alternate"\n[agent]',
     r"changed=0.1 \(--changed\) needs the order optimal, not 'alternate'"),
    ("[agent]", "[spend]\nper_call = 3\n[agent]", r"unknown table 'spend'"),
    ("[input]", "[[input]]", r"must be a table"),
    ("seed = 1", "seed = ", r"not a TOML file: .*line 4"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), BAD)
def test_refused(tmp_path, old, new, message):
    path = write(tmp_path, LEAST.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_bad_override_is_refused(tmp_path):
    path = write(tmp_path, LEAST)
    with pytest.raises(ConfigError, match="k=0 must be"):
        read_config(path, k=0)
    with pytest.raises(ConfigError, match=r"unknown override 'speed'.*did you mean 'seed'"):
        read_config(path, speed=3)


def test_no_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: File name too long"):
        read_config(tmp_path / ("x" * 5000))
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[run]\nstore = "\xe9"')
    with pytest.raises(ConfigError, match="not a TOML file"):
        read_config(tmp_path / "latin.toml")
