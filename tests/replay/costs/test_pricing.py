"""Price files, what a reply costs, and `price_run`, against figures worked out by hand."""

import math
import random
from fractions import Fraction

import pytest

from carve_stats.errors import ConfigError, InputError, PlanError
from carve_stats.replay.costs.prices import ModelPrice, Prices, read_prices
from carve_stats.replay.costs.pricing import price_run
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.independence.canary_report import CanaryReport, keep_canary
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import EvidenceItem, Trajectory

PRICE_FILE = """
currency = "USD"
[models."gpt-4o"]
input = 2.50
output = 10.00
cached_input = 1.25
[models."gpt-4o-mini"]
input = 0.15
output = 0.60
[models."per call"]
call = 0.02
image = 0.003
"""
OPTIONS = {"A": "yes", "B": "no"}
CANARY_OFF = {"canary": "off"}
QUESTIONS = [Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS) for i in range(10)]


@pytest.fixture
def price_file(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(PRICE_FILE)
    return path


@pytest.mark.parametrize(
    ("model", "rate"),
    [
        ("gpt-4o", "2.50"),
        ("gpt-4o-2024-08-06", "2.50"),
        ("gpt-4o-mini", "0.15"),
        ("gpt-4o-mini-2024-07-18", "0.15"),
        ("gpt-4o-mini:20240718", "0.15"),
        ("gpt-4o-latest", "2.50"),
    ],
)
def test_a_name_stands_for_its_dated_versions(price_file, model, rate):
    assert read_prices(price_file).find(model).input == Fraction(rate) / 10**6


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4",
        "gpt-4o-audio-preview",
        "gpt-4o-mini-high",
        "gpt-4o-2",
        "openai/gpt-4o",
        "GPT-4o",
        "",
    ],
)
def test_another_model_has_no_price(price_file, model):
    with pytest.raises(InputError, match="no price for the model") as e:
        read_prices(price_file).find(model)
    assert str(price_file) in str(e.value)
    assert "\n" not in str(e.value)


def test_the_default_is_for_every_other_model(price_file):
    price_file.write_text(PRICE_FILE + "[models.default]\ninput = 7\noutput = 8\n")
    prices = read_prices(price_file)
    assert prices.find("gpt-4").input == prices.find(None).input == Fraction(7, 10**6)
    assert prices.find("gpt-4o").input == Fraction(25, 10**7)


def test_without_a_name_or_a_default_the_mend_is_a_default(price_file):
    with pytest.raises(InputError, match=r"\[models.default\]"):
        read_prices(price_file).find(None)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        ({"prompt_tokens": 1000, "completion_tokens": 200}, Fraction(45, 10_000)),
        ({"input_tokens": 1000, "output_tokens": 200}, Fraction(45, 10_000)),
        # 600 of the 1000 are read at half the price.
        ({"prompt_tokens": 1000, "completion_tokens": 200, "cached_tokens": 600},
         Fraction(400 * 250 + 600 * 125 + 200 * 1000, 10**8)),
        ({"prompt_tokens": 1000, "completion_tokens": 0, "cached_tokens": 5000},
         Fraction(1000 * 125, 10**8)),
        ({"prompt_tokens": 1000, "completion_tokens": 0, "cached_tokens": -5},
         Fraction(1000 * 250, 10**8)),
        # 300 more were thought than are counted.
        ({"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1500},
         Fraction(1000 * 250 + 500 * 1000, 10**8)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Fraction(0)),
        ({"prompt_tokens": 1000}, None),
        ({"completion_tokens": 1000}, None),
        ({"prompt_tokens": -1, "completion_tokens": 1000}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_what_a_reply_costs(price_file, usage, dollars):
    assert read_prices(price_file).find("gpt-4o").cost(usage, calls=1, images=9) == dollars


def test_calls_and_images_need_no_tokens(price_file):
    price = read_prices(price_file).find("per call")
    assert price.cost({}, calls=3, images=7) == Fraction(60 + 21, 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.m]\ncall = 1", 'currency=None must be a short name, as "USD"'),
        ("currency = 5\n[models.m]\ncall = 1", "currency=5"),
        ('currency = ""\n[models.m]\ncall = 1', "currency=''"),
        ('currency = "U\\u0007D"\n[models.m]\ncall = 1', "currency="),
        ('currency = "USD"', "needs a table for each model"),
        ('currency = "USD"\nmodels = 3', "needs a table for each model"),
        ('currency = "USD"\ncurency = "USD"', "did you mean 'currency'"),
        ('currency = "USD"\n[models]\nm = 3', '[models."m"] must have prices'),
        ('currency = "USD"\n[models.m]', '[models."m"] must have prices'),
        ('currency = "USD"\n[models." "]\ncall = 1', "must name a model"),
        ('currency = "USD"\n[models.gpt-4.1]\ninput = 1\noutput = 1', '[models."gpt-4.1"]'),
        ('currency = "USD"\n[models.m]\ninputs = 1', "did you mean 'input'"),
        ('currency = "USD"\n[models.m]\ninput = 1', "needs both input and output"),
        ('currency = "USD"\n[models.m]\ncached_input = 1', "it needs input and output"),
        ('currency = "USD"\n[models.m]\ncall = -0.1', "call=-0.1 must be a number from 0 to 1e12"),
        ('currency = "USD"\n[models.m]\ncall = nan', "call=NaN must be a number"),
        ('currency = "USD"\n[models.m]\ncall = -inf', "call=-Infinity must be a number"),
        ('currency = "USD"\n[models.m]\ncall = 1e400', "call=1E+400 must be a number"),
        ('currency = "USD"\n[models.m]\ncall = 1e99999999', "must be a number"),
        ('currency = "USD"\n[models.m]\ncall = 1e-99999999', "more than 30 decimals"),
        ('currency = "USD"\n[models.m]\ncall = 9' + "9" * 5000, "not a TOML file"),
        ('currency = "USD"\n[models.m]\ncall = 9' + "9" * 3000, "must be a number"),
        ('currency = "USD"\n[models.m]\ncall = "0.1"', "call='0.1' must be a number"),
        ('currency = "USD"\n[models.m]\ncall = true', "call=True must be a number"),
        ('currency = "USD"\n[models.m]\ncall = [1]', "call=[1] must be a number"),
        ('currency = "USD"\n[models.m]\ncall = 1979-05-27', "must be a number"),
        ('currency = "USD', "not a TOML file"),
    ],
)
def test_hostile_price_files_are_one_line(tmp_path, text, said):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_prices(path)
    assert said in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_no_price_file(tmp_path):
    for path in (tmp_path / "absent.toml", tmp_path, "a\0b"):
        with pytest.raises(ConfigError) as raised:
            read_prices(path)
        assert "\n" not in str(raised.value)


def test_prices_are_the_decimals_of_the_file(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('currency = "CHF"\n[models.m]\ncall = 0.1\nimage = 1e-7\ninput = 0\noutput = 3')
    prices = read_prices(path)
    assert prices.currency == "CHF"
    assert prices.find("m") == ModelPrice(
        call=Fraction(1, 10), image=Fraction(1, 10**7), output=Fraction(3, 10**6)
    )


# What a run will take.

PRICES = Prices(
    currency="USD",
    models={"m": ModelPrice(input=Fraction(3, 10**4), output=Fraction(15, 10**4))},
)


def never(request):
    raise AssertionError("a dry run asks the agent nothing")


class Counting:
    """Tells tokens that its question decides, and declares itself the same as `Silent`."""

    answers = ("A", "B")

    def __call__(self, request):
        number = int(request.question_id[1:])
        return ReplayReply(
            text=random.Random(request.seed).choice(self.answers), model="m",
            usage={"prompt_tokens": 1000 + 100 * number, "completion_tokens": 10},
        )  # fmt: skip

    def fingerprint(self):
        return {"name": "counting"}


class Silent(Counting):
    def __call__(self, request):
        raise AssertionError("a dry run asks the agent nothing")

    def render(self, evidence, *, seed):
        raise AssertionError("a dry run asks the agent nothing")


Silent.__module__, Silent.__qualname__ = Counting.__module__, Counting.__qualname__


class Plain(Counting):
    """`Silent` without captions."""

    def __call__(self, request):
        raise AssertionError("a dry run asks the agent nothing")


Plain.__module__, Plain.__qualname__ = Counting.__module__, Counting.__qualname__


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_nothing_is_asked_and_nothing_written(tmp_path):
    price = price_run(never, QUESTIONS, k={"self": 1, "sham": 2, "destroy": 3},
                      store=tmp_path / "run", seed=1, attempts=2, prices=PRICES)  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    counts = {c: (p.planned, p.there, p.replays.expected) for c, p in price.conditions.items()}
    assert counts == {"self": (10, 0, 10), "sham": (20, 0, 20), "destroy": (30, 0, 30)}
    # Each replay may be tried twice; how many are is not known.
    assert price.total.calls.to_dict() == {"expected": None, "low": 60, "high": 120}
    for unknown in ("tokens_in", "tokens_out", "seconds", "cost"):
        assert getattr(price.total, unknown) is None
    assert price.duration is None
    assert (price.spent_calls, price.spent_cost) == (0, 0)
    # Five SELF replays take five questions at k = 1.
    assert any("Run with --limit 5 first: the same store goes on" in note for note in price.notes)
    assert "60 to 120" in str(price)


def test_the_same_run_after_its_first_questions(tmp_path):
    run_replays(Counting(), QUESTIONS[:3], k=3, store=tmp_path, seed=1)
    before = files(tmp_path)
    price = price_run(Plain(), QUESTIONS, k=3, store=tmp_path, seed=1, prices=PRICES, workers=4)
    assert files(tmp_path) == before
    assert price.spent_calls == 27
    # By hand: 9 replays each of 1000, 1100 and 1200 tokens in, and 10 out.
    spent = 9 * (3300 * Fraction(3, 10**4) + 30 * Fraction(15, 10**4))
    assert price.spent_cost == pytest.approx(float(spent), rel=1e-12)
    sham = price.conditions["sham"]
    assert (sham.planned, sham.there, sham.replays.expected) == (30, 9, 21)
    assert sham.tokens_in.expected == 21 * 1100
    assert sham.tokens_out.to_dict() == {"expected": 210, "low": 210, "high": 210}
    # The means of the three questions, 1000, 1100 and 1200, have a standard deviation of 100, and
    # t with 2 degrees of freedom is 4.302653 at 97.5 %; 3 questions tell of 7 others.
    half = 4.302652729911275 * 100 * math.sqrt(1 / 3 + 1 / 7)
    assert sham.tokens_in.low == pytest.approx(21 * (1100 - half), rel=1e-7)
    assert sham.tokens_in.high == pytest.approx(21 * (1100 + half), rel=1e-7)
    cost = 21 * (1100 * Fraction(3, 10**4) + 10 * Fraction(15, 10**4))
    assert sham.cost.expected == pytest.approx(float(cost), rel=1e-12)
    assert price.total.cost.expected == pytest.approx(float(3 * cost), rel=1e-12)
    assert price.total.cost.high == pytest.approx(float(3 * cost) + 3 * 21 * half * 3e-4, rel=1e-7)
    seconds = [sum(r.seconds.values()) for r in RunStore.load(tmp_path).records()]
    assert price.duration.expected == pytest.approx(63 * sum(seconds) / len(seconds) / 4)
    assert "27 calls made" in str(price)


def test_the_prediction_interval_holds_what_the_run_then_costs(tmp_path):
    questions = random.Random(5).sample(QUESTIONS, len(QUESTIONS))
    run_replays(Counting(), questions[:4], k=2, store=tmp_path, seed=1)
    price = price_run(Plain(), questions, k=2, store=tmp_path, seed=1, prices=PRICES)
    run_replays(Counting(), questions, k=2, store=tmp_path, seed=1)
    after = price_run(Plain(), questions, k=2, store=tmp_path, seed=1, prices=PRICES)
    assert price.total.cost.low <= after.spent_cost - price.spent_cost <= price.total.cost.high
    assert after.total.calls.to_dict() == {"expected": 0, "low": 0, "high": 0}
    assert after.total.cost.to_dict() == {"expected": 0, "low": 0, "high": 0}
    assert not any("not known" in note for note in after.notes)


def test_replies_that_tell_no_tokens_are_told_apart_from_runs_too_short(tmp_path):
    def answer(request):
        return "A"

    run_replays(answer, QUESTIONS[:2], k=3, store=tmp_path, seed=1)
    price = price_run(answer, QUESTIONS, k=3, store=tmp_path, seed=1)
    assert price.total.tokens_in is None
    assert price.total.seconds.expected > 0
    assert any("do not tell their tokens" in note for note in price.notes)
    assert not any("--limit" in note for note in price.notes)


def test_one_question_gives_a_mean_and_no_interval(tmp_path):
    run_replays(Counting(), QUESTIONS[:1], k=5, store=tmp_path, seed=1)
    price = price_run(Plain(), QUESTIONS, k=5, store=tmp_path, seed=1, prices=PRICES)
    assert price.total.tokens_in.to_dict() == {"expected": 135_000, "low": None, "high": None}


def test_another_run_of_the_agent_is_measured_where_this_one_has_too_little(tmp_path):
    run_replays(Counting(), QUESTIONS[:2], k=3, store=tmp_path / "other", seed=1)
    run_replays(Counting(), QUESTIONS[4:6], k={"self": 3, "sham": 2, "destroy": 2},
                store=tmp_path / "run", seed=2)  # fmt: skip
    given = {"k": 3, "store": tmp_path / "run", "seed": 2}
    alone = price_run(Plain(), QUESTIONS, **given, prices=PRICES)
    assert alone.conditions["self"].tokens_in.expected == 24 * 1450
    assert alone.conditions["sham"].tokens_in is None
    assert alone.total.cost is None
    both = price_run(Plain(), QUESTIONS, **given, prices=PRICES, like=tmp_path / "other")
    assert both.conditions["self"].tokens_in.expected == 24 * 1450
    assert both.conditions["sham"].tokens_in.expected == 26 * 1050
    assert both.total.cost is not None
    assert any(str(tmp_path / "other") in note and "sham" in note for note in both.notes)
    with pytest.raises(InputError, match="absent"):
        price_run(Plain(), QUESTIONS, **given, like=tmp_path / "absent")


def test_attempts_that_replays_took_are_those_that_others_will(tmp_path):
    agent = Counting()
    agent.answers = ("A", "", "")
    run_replays(agent, QUESTIONS[:5], k=4, store=tmp_path, seed=1, attempts=3)
    records = list(RunStore.load(tmp_path).records())
    price = price_run(Plain(), QUESTIONS, k=4, store=tmp_path, seed=1, attempts=3, prices=PRICES)
    for condition, part in price.conditions.items():
        made = sum(r.condition == condition for r in records)
        assert 20 < made < 60
        assert part.calls.expected == pytest.approx(made)
        assert (part.calls.low, part.calls.high) == (20, 60)
        assert part.cost.low < part.cost.expected < part.cost.high


def test_a_replay_that_is_half_tried_takes_what_is_left(tmp_path):
    agent = Counting()
    agent.answers = ("",)
    run_replays(agent, QUESTIONS[:1], k=1, store=tmp_path, seed=1, attempts=3)
    [segment] = (tmp_path / "segments").iterdir()
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:4]))  # SELF is done; SHAM has one attempt of three
    price = price_run(Plain(), QUESTIONS[:1], k=1, store=tmp_path, seed=1, attempts=3)
    bounds = {c: (p.calls.low, p.calls.high) for c, p in price.conditions.items()}
    assert bounds == {"self": (0, 0), "sham": (1, 2), "destroy": (1, 3)}


def test_a_run_that_stops_questions_early(tmp_path):
    from carve_stats.law.stopping import fixed_plan

    plan = fixed_plan(4, 4, "score <= 0", "alternate", minimum=(1, 2))
    given = {"k": 4, "store": tmp_path, "seed": 1, "stopping": plan}
    sham, destroy = plan.guaranteed
    fresh = price_run(Plain(), QUESTIONS, **given, expected={"sham": 2.5, "destroy": 3.0})
    assert fresh.conditions["sham"].replays.to_dict() == {
        "expected": 25, "low": 10 * sham, "high": 40}  # fmt: skip
    assert fresh.conditions["destroy"].replays.to_dict() == {
        "expected": 30, "low": 10 * destroy, "high": 40}  # fmt: skip
    assert fresh.conditions["self"].replays.expected == 40
    unknown = price_run(Plain(), QUESTIONS, **given)
    assert unknown.conditions["sham"].replays.expected is None

    status = run_replays(Counting(), QUESTIONS[:6], **given)
    made = [r.condition for r in RunStore.load(tmp_path).records()]
    price = price_run(Plain(), QUESTIONS, **given)
    for condition in ("sham", "destroy"):
        part = price.conditions[condition]
        assert part.there == made.count(condition)
        assert part.there + part.spared == 24
        # Six questions have ended: four others will take as much on average.
        assert part.replays.expected == pytest.approx(4 * made.count(condition) / 6)
    assert price.total.spared == status.spared


@pytest.fixture
def pictured(tmp_path, rng):
    import numpy as np

    folder = tmp_path / "media"
    folder.mkdir()
    for i in range(3):
        frame = Encoder("png").encode(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8), None)
        (folder / f"{i}.png").write_bytes(frame.data)
    return folder, [
        Trajectory(
            question_id=f"p{i}", answer="A", options=OPTIONS,
            evidence=[EvidenceItem(id="one", text="t", frames=("0.png", "1.png")),
                      EvidenceItem(id="two", text="u", frames=("2.png",))],
        )
        for i in range(3)
    ]  # fmt: skip


def test_frames_captions_bytes_and_the_canary(tmp_path, pictured):
    folder, questions = pictured
    prices = Prices(
        currency="USD",
        models={"default": ModelPrice(call=Fraction(1, 10), image=Fraction(1, 1000))},
    )
    given = {"k": 2, "store": tmp_path / "run", "seed": 1, "media": folder}
    price = price_run(Silent(), questions, **given, prices=prices)
    parts = price.conditions
    assert list(parts) == ["self", "sham", "destroy", "canary"]
    assert [parts[c].calls.expected for c in ("self", "sham", "destroy")] == [6, 18, 18]
    assert [parts[c].frames.expected for c in ("self", "sham", "destroy")] == [18, 18, 18]
    # Two replies; two captions each for SHAM, for DESTROY, and for the other pictures.
    assert (parts["canary"].calls.low, parts["canary"].calls.expected) == (8, 8)
    assert parts["canary"].calls.high == 40 + 2 * 52
    assert parts["canary"].frames.expected == 6
    stored = sum((folder / f"{i}.png").stat().st_size for i in range(3))
    assert parts["self"].bytes.expected == pytest.approx(6 * stored)
    hand = Fraction(6 + 18 + 18 + 8, 10) + Fraction(18 * 3 + 6, 1000)
    assert price.total.cost.expected == pytest.approx(float(hand))
    assert not (tmp_path / "run").exists()


def test_bytes_are_those_that_replays_show(tmp_path, pictured):
    folder, questions = pictured
    questions = [
        Trajectory(question_id=t.question_id, answer="A", options=OPTIONS,
                   evidence=[EvidenceItem(id=i.id, frames=i.frames) for i in t.evidence])
        for t in questions
    ]  # fmt: skip
    shown = {}

    class Weighing(Counting):
        def __call__(self, request):
            size = sum(len(f.data) for item in request.evidence for f in item.frames)
            shown[request.condition] = shown.get(request.condition, 0) + size
            return super().__call__(request)

    given = {"k": 1, "seed": 1, "media": folder}
    price = price_run(Plain(), questions, store=tmp_path / "a", canary=False, **given)
    assert list(price.conditions) == ["self", "sham", "destroy"]
    run_replays(Weighing(), questions, store=tmp_path / "b", **given, **CANARY_OFF)
    assert {c: p.bytes.expected for c, p in price.conditions.items()} == pytest.approx(shown)


def test_a_canary_that_was_sent_is_spent_and_not_sent_again(tmp_path, pictured):
    folder, questions = pictured
    questions = [
        Trajectory(question_id=t.question_id, answer="A", options=OPTIONS,
                   evidence=[EvidenceItem(id="one", frames=("0.png",))])
        for t in questions
    ]  # fmt: skip
    given = {"k": 1, "store": tmp_path / "run", "seed": 1, "media": folder}
    run_replays(Counting(), questions[:1], **given, **CANARY_OFF)
    usage = {"prompt_tokens": 2000.0, "completion_tokens": 0.0}
    keep_canary(tmp_path / "run", CanaryReport(passed=True, calls=2, usage=usage))
    default = Prices(currency="USD", models={"m": PRICES.models["m"],
                                             "default": PRICES.models["m"]})  # fmt: skip
    price = price_run(Plain(), questions, **given, prices=default)
    assert "canary" not in price.conditions
    assert price.spent_calls == 3 + 2
    assert price.spent_cost == pytest.approx(3 * (0.3 + 0.015) + 0.6)


def test_what_a_run_would_refuse_is_refused(tmp_path):
    run_replays(Counting(), QUESTIONS[:2], k=1, store=tmp_path / "run", seed=1)
    before = files(tmp_path)
    for change, error in (
        ({"seed": 2}, PlanError),
        ({"k": 0}, InputError),
        ({"workers": 0}, InputError),
        ({"prices": tmp_path / "absent"}, InputError),
        ({"prices": Prices(currency="USD", models={"other": ModelPrice()})}, InputError),
    ):
        with pytest.raises(error):
            price_run(
                Plain(), QUESTIONS, **{"k": 1, "store": tmp_path / "run", "seed": 1, **change}
            )
    changed = [Trajectory(question_id="q0", answer="B", options=OPTIONS)]
    with pytest.raises(PlanError):
        price_run(Plain(), changed, k=1, store=tmp_path / "run", seed=1)
    assert files(tmp_path) == before


def test_every_figure_is_a_plain_value(tmp_path):
    import json

    price = price_run(never, QUESTIONS, k=2, store=tmp_path / "run", seed=1, prices=PRICES)
    values = json.loads(json.dumps(price.to_dict(), allow_nan=False))
    assert values["conditions"]["sham"]["calls"] == {"expected": 20, "low": 20, "high": 20}
    assert values["spent"] == {"calls": 0, "cost": 0}
    assert "<table>" in price._repr_html_()
