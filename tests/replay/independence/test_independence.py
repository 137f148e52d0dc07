"""The independence report: which rule catches which copies, and what is no alarm."""

import random
from dataclasses import replace

import pytest

from carve_stats.replay.independence.alarms import FALSE_ALARMS
from carve_stats.replay.independence.reply_cells import ReplyCells
from carve_stats.replay.independence.report import IndependenceTally, check_independence
from carve_stats.replay.loop import run_replays
from carve_stats.replay.protocols import ReplayReply
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory

OPTIONS = {"A": "a cat", "B": "a dog", "C": "a cow", "D": "none of them"}
WHY = "because of what can be seen at the beginning and at the end of the film"


class Agent:
    """Flips each question at its rate, with reasons in words of its own or the letter only."""

    stochastic = None

    def __init__(self, *, rates, letters=False):
        self.rates, self.letters = rates, letters

    def draw(self, question, seed):
        generator = random.Random(seed)
        flips = generator.random() < self.rates[question]
        letter = generator.choice("BCD") if flips else "A"
        return letter if self.letters else f"{WHY} ({generator.random()}). ANSWER: {letter}"

    def __call__(self, request):
        return self.draw(request.question_id, request.seed)

    def fingerprint(self):
        return {"name": type(self).__name__}


class MemoByQuestion(Agent):
    """One reply a question, whatever the pictures."""

    def __call__(self, request):
        return self.draw(request.question_id, request.question_id)


class MemoByPrompt(Agent):
    """One reply to SELF, a new one to each crop of SHAM and DESTROY; so has a fixed seed."""

    def __call__(self, request):
        same = request.condition == "self"
        return self.draw(request.question_id, f"{request.question_id}" if same else request.seed)


class HalfWay(Agent):
    """A mailbox that begins to give copies with the second half of the questions."""

    def __call__(self, request):
        late = int(request.question_id[1:]) >= len(self.rates) / 2
        return self.draw(request.question_id, request.question_id if late else request.seed)


class FixedSeed(Agent):
    """Replies hardly vary with the crop: one SHAM reply in ten is another one."""

    def __call__(self, request):
        crop = 0
        if request.condition == "sham":
            crop = random.Random(request.seed).random() < 0.1
        if request.condition == "destroy":
            crop = request.seed
        return self.draw(request.question_id, f"{request.question_id} {crop}")


def declaring(kind, stochastic):
    return type(kind.__name__, (kind,), {"stochastic": stochastic})


def flip_rates(n, seed=3):
    generator = random.Random(seed)
    return {f"q{i:03d}": generator.choice([0.0, 0.1, 0.3, 0.7]) for i in range(n)}


def report_on(path, kind, *, stochastic=None, n=60, k=4, letters=False, rates=None, **options):
    """Questions whose frozen answers are draws of the honest agent."""
    rates = flip_rates(n) if rates is None else rates
    honest = Agent(rates=rates, letters=True)
    questions = [
        Trajectory(question_id=q, answer=honest.draw(q, f"frozen {q}"), options=OPTIONS)
        for q in rates
    ]
    agent = declaring(kind, stochastic)(rates=rates, letters=letters)
    run_replays(agent, questions, k=k, store=path, seed=1, **options)
    with RunStore.load(path) as store:
        return check_independence(store)


def rules(report):
    return [alarm.rule for alarm in report.alarms]


@pytest.mark.parametrize(("copied", "alarms"), [(6, []), (7, ["repeated_answers"])])
def test_answers_repeat_too_much_from_p_of_one_in_ten_thousand(tmp_path, copied, alarms):
    """Each question whose three SELF answers alone are the same has p = 1/4: 4^-6 and 4^-7."""
    questions = [
        Trajectory(question_id=f"q{i}", answer="A", options=OPTIONS) for i in range(copied)
    ]
    run_replays(lambda request: "B", questions, k=3, store=tmp_path / "run", seed=1)
    report = check_independence(tmp_path / "run")
    assert report.frozen_answers.p_value == pytest.approx(4.0**-copied)
    assert rules(report) == alarms


ALL = ["repeated_answers", "unvaried_replies"]
BY_TEXT = ", nor from one condition to another: a cache keyed by the question or its text alone"


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize(
    ("kind", "where", "cause"),
    [
        (MemoByQuestion, "in SELF, SHAM and DESTROY", BY_TEXT),
        (MemoByPrompt, "in SELF", ": a cache keyed by the prompt, or an engine with a fixed seed"),
        (FixedSeed, "in SELF", ": a cache keyed by the prompt, or an engine with a fixed seed"),
    ],
)
def test_copies_of_an_agent_that_declares_itself_stochastic(tmp_path, kind, where, cause, letters):
    report = report_on(tmp_path, kind, stochastic=True, n=80, letters=letters)
    assert rules(report) == ALL
    assert f"no two to one question differ {where}" in report.alarms[1].text
    assert cause in report.alarms[1].text
    assert report.conditions["self"].varied == 0
    assert report.conditions["self"].effective_k == 1
    assert report.conditions["sham"].effective_k == (1 if kind is MemoByQuestion else 4)
    assert report.frozen_answers.p_value < FALSE_ALARMS


@pytest.mark.parametrize("kind", [MemoByQuestion, MemoByPrompt, FixedSeed, HalfWay])
def test_copies_of_an_agent_that_declares_nothing(tmp_path, kind):
    report = report_on(tmp_path, kind, n=120)
    assert rules(report) == ["repeated_answers"]
    assert ("no two replies to one question differ in SELF" in report.alarms[0].text) == (
        kind is not HalfWay
    )


def test_a_cache_by_repetition_of_copies_that_never_flip_is_caught_by_the_declaration(tmp_path):
    # Frozen answers out of the same cache: nothing in the answers tells.
    calm = {f"q{i:03d}": 0.0 for i in range(20)}
    report = report_on(tmp_path / "yes", MemoByPrompt, stochastic=True, rates=calm)
    assert rules(report) == ["unvaried_replies"]
    assert report.frozen_answers.p_value is None
    report = report_on(tmp_path / "no", MemoByQuestion, rates=calm)
    assert rules(report) == []
    assert any("from outputs alone they look the same" in note for note in report.notes)
    assert report.conditions["self"].effective_k == 1


@pytest.mark.parametrize(
    ("questions", "k", "alarm"), [(9, 10, False), (10, 2, False), (12, 3, True), (20, 2, True)]
)
def test_fewer_are_enough_where_sham_replies_differ(tmp_path, questions, k, alarm):
    calm = {f"q{i:03d}": 0.0 for i in range(questions)}
    report = report_on(
        tmp_path, MemoByPrompt, stochastic=True, rates=calm, k=k, conditions=["self", "sham"]
    )
    assert report.conditions["sham"].varied == questions
    assert rules(report) == ["unvaried_replies"] * alarm


@pytest.mark.parametrize(("questions", "alarm"), [(67, False), (68, True)])
def test_how_many_short_replies_are_enough(tmp_path, questions, alarm):
    calm = {f"q{i:03d}": 0.0 for i in range(questions)}
    report = report_on(
        tmp_path, Agent, stochastic=True, rates=calm, conditions=["self"], letters=True
    )
    assert rules(report) == ["unvaried_replies"] * alarm


def test_what_is_stated_of_the_number_of_replies():
    assert 0.95 ** (269 / 2) > FALSE_ALARMS > 0.95 ** (270 / 2)


def test_too_few_to_tell_are_told_of(tmp_path):
    calm = {f"q{i:03d}": 0.0 for i in range(9)}
    report = report_on(tmp_path, MemoByQuestion, stochastic=True, rates=calm)
    assert rules(report) == []
    assert any("none of 108 replies differs" in note for note in report.notes)


class OfPictures(Agent):
    """Deterministic: the prompt decides."""

    def __call__(self, request):
        return self.draw(request.question_id, f"{request.question_id} {request.evidence}")


def test_a_declared_deterministic_agent_has_no_alarm_and_one_draw_a_prompt(tmp_path):
    report = report_on(tmp_path, OfPictures, stochastic=False)
    assert rules(report) == []
    assert report.frozen_answers is None
    assert {d.effective_k for d in report.conditions.values()} == {1}  # no pictures: one prompt
    assert {d.replays for d in report.conditions.values()} == {240}
    assert any("deterministic given the prompt" in note for note in report.notes)
    assert any("SELF answers are not the frozen one" in note for note in report.notes)


def retold(path, change, *, stochastic=False, k=3):
    """The report on the records of a run as `change` makes them."""
    report_on(path, Agent, stochastic=stochastic, n=12, k=k)
    with RunStore.load(path) as store:
        tally = IndependenceTally(store)
        assert list(tally.watch(map(change, store.records())))
        return tally.report()


def test_replays_of_new_pictures_are_new_draws_of_a_deterministic_agent(tmp_path):
    def change(record):
        shown = f"{record.seed}" if record.condition != "self" else "stored"
        if record.condition == "sham" and record.question_id == "q003":
            shown = "the same crop each time"
        return replace(record, evidence_sha256=shown)

    report = retold(tmp_path, change)
    assert [d.effective_k for d in report.conditions.values()] == pytest.approx(
        [1, (11 * 3 + 1) / 12, 3]
    )
    assert (report.conditions["sham"].fewest, report.conditions["sham"].most) == (1, 3)
    # The honest draws differ, though they are declared not to.
    assert any("does not quite decide the reply" in note for note in report.notes)
    assert rules(report) == []
    assert "2.83 (1 to 3)" in str(report)


def test_a_reply_from_a_cache_is_an_alarm_and_no_draw(tmp_path):
    def change(record):
        return replace(record, from_cache=record.repetition == 2 and record.condition == "sham")

    report = retold(tmp_path, change, stochastic=None)
    assert rules(report) == ["from_cache"]
    assert "12 of 108 replies" in report.alarms[0].text
    assert {n: d.effective_k for n, d in report.conditions.items()} == {
        "self": 3, "sham": 2, "destroy": 3,
    }  # fmt: skip


def test_what_did_not_reach_the_agent_is_no_reply(tmp_path):
    def change(record):
        if record.repetition == 0:
            return replace(record, status="transport_error", answer=None, flip=None, text="[…]")
        return record

    report = retold(tmp_path, change, stochastic=True)
    assert {d.effective_k for d in report.conditions.values()} == {2}


def test_attempts_of_a_replay_are_one_draw(tmp_path):
    class Unclear(Agent):
        def __call__(self, request):
            return super().__call__(request) if request.attempt else f"unclear {request.seed}"

    report = report_on(tmp_path, Unclear, stochastic=True, attempts=2)
    assert {(d.replays, d.effective_k) for d in report.conditions.values()} == {(240, 4)}
    assert rules(report) == []


def test_replies_without_text_are_told_apart_by_their_answers(tmp_path):
    class Labels(Agent):
        def __call__(self, request):
            return ReplayReply(text="", answer=self.draw(request.question_id, request.seed))

    report = report_on(tmp_path, Labels, stochastic=True, letters=True)
    assert rules(report) == []
    assert report.conditions["self"].varied > 10


def test_temperature_zero_with_texts_that_differ_is_no_alarm(tmp_path):
    class Batched(OfPictures):
        def __call__(self, request):
            words = "indeed" if random.Random(request.seed).random() < 0.1 else "so"
            return f"{words} {super().__call__(request)}"

    report = report_on(tmp_path, Batched, rates=dict.fromkeys(flip_rates(40), 0.0))
    assert rules(report) == []
    assert report.conditions["self"].effective_k == 4


@pytest.mark.parametrize(("questions", "alike"), [(9, False), (10, True)])
def test_of_few_prompts_it_is_not_said_that_replies_never_differ(tmp_path, questions, alike):
    calm = {f"q{i:03d}": 0.0 for i in range(questions)}
    report = report_on(tmp_path, MemoByQuestion, rates=calm, k=2, conditions=["self"])
    assert any("no two replies to one prompt differ" in n for n in report.notes) == alike
    assert report.conditions["self"].effective_k == (1 if alike else 2)


@pytest.mark.parametrize(("declared", "kept"), [(True, 0), (None, 0), (False, 13)])
def test_prompts_are_kept_only_as_long_as_they_can_tell_something(tmp_path, declared, kept):
    report_on(tmp_path, Agent, n=12)
    cells = ReplyCells({}, declared=declared, attempts=1)
    with RunStore.load(tmp_path) as store:
        for record in store.records():
            if record.condition == "self":
                cells.add(record)
    cells.add(replace(record, question_id="another"))
    assert sum(cell.prompts is not None for cell in cells.cells.values()) == kept


def test_pictures_that_change_nothing_are_noted(tmp_path):
    report = report_on(tmp_path, MemoByQuestion, stochastic=False)
    assert any("pictures do not reach the agent" in note for note in report.notes)


def test_pictures_that_change_something_later_are_not(tmp_path):
    class Later(Agent):
        def __call__(self, request):
            return super().__call__(request) if request.repetition else "A"

    report = report_on(tmp_path, Later, letters=True)
    assert not any("pictures do not reach the agent" in note for note in report.notes)


def test_a_run_without_self_or_options_says_what_is_not_tested(tmp_path):
    report = report_on(tmp_path / "a", Agent, conditions=["sham", "destroy"])
    assert any("no SELF replays" in note for note in report.notes)
    open_question = Trajectory(question_id="q", answer="a cat")
    run_replays(
        lambda r: "a dog", [open_question], k=9, store=tmp_path / "b", seed=1, equal=str.__eq__
    )
    report = check_independence(RunStore.load(tmp_path / "b"))
    assert rules(report) == []
    assert report.frozen_answers.questions == 0
    assert any("open questions" in note for note in report.notes)


def test_a_run_that_has_not_begun_or_goes_on_is_reported_on(tmp_path):
    class Broken(Agent):
        def __call__(self, request):
            raise RuntimeError("broken")

    with pytest.raises(Exception, match="broken"):
        report_on(tmp_path, Broken)
    with RunStore.load(tmp_path) as store:
        report = check_independence(store)
    assert (report.conditions, report.alarms) == ({}, ())
    assert str(report)
    assert report.to_dict()["conditions"] == {}


HONEST = [
    (n, k, letters, stochastic)
    for n, k in [(20, 2), (20, 10), (60, 3), (150, 2)]
    for letters in (False, True)
    for stochastic in (None, True)
]


@pytest.mark.parametrize(("n", "k", "letters", "stochastic"), HONEST)
def test_honest_agents_raise_no_alarm(tmp_path, n, k, letters, stochastic):
    """Each of three runs: with two rules at one in a thousand, 48 runs have one in 5 % of seeds."""
    for seed in range(3):
        generator = random.Random(seed)
        rates = {f"q{i:03d}": generator.choice([0, 0.05, 0.2, 0.7]) for i in range(n)}
        report = report_on(
            tmp_path / str(seed), Agent, stochastic=stochastic, k=k, letters=letters, rates=rates
        )
        assert rules(report) == []
        assert {d.effective_k for d in report.conditions.values()} == {k}


def test_the_report_as_plain_values(tmp_path):
    report = report_on(tmp_path, MemoByQuestion, stochastic=True).to_dict()
    assert set(report) == {"declared", "conditions", "frozen_answers", "alarms", "notes"}
    assert [alarm["rule"] for alarm in report["alarms"]] == ALL
    assert report["conditions"]["self"] == {
        "questions": 60, "replays": 240, "from_cache": 0, "effective_k": 1, "fewest": 1,
        "most": 1, "compared": 60, "varied": 0,
    }  # fmt: skip
