"""What commands ask and say of a run that stops questions early."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from carve_stats.errors import InputError, PlanError

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts
    from carve_stats.law.stopping import StoppingPlan
    from carve_stats.planning.curtailment import Curtailment
    from carve_stats.population.mixing import Population
    from carve_stats.replay.config import StoppingOptions
    from carve_stats.replay.progress import RunStatus

__all__ = [
    "RunStopping",
    "describe_plan",
    "plan_run",
    "plan_summary",
    "read_minimum",
    "stopping_options",
    "tell_saving",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--stop-when-decided",
        "rule",
        metavar="RULE",
        help="Stop each question once no replay to come can change what RULE, such as"
        " 'score <= 0', or 'sign' says of it.",
    ),
    click.option(
        "--order",
        help="Of such replays: optimal (the default), alternate, alternate-destroy-first or"
        " destroy-first.",
    ),
    click.option(
        "--minimum",
        metavar="SHAM,DESTROY",
        help="Replays that every question gets before it stops; three tenths of k if not given.",
    ),
    click.option(
        "--changed",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="SHARE",
        help="Stop even earlier, so that up to this share of the decisions may differ from those"
        " of all replays, such as 0.01; none if not given. For the optimal order only.",
    ),
)


def stopping_options(command: _Command) -> _Command:
    """Add the options ``rule``, ``order``, ``minimum`` and ``changed``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_minimum(text: str | None) -> list[int] | None:
    """The two numbers of ``--minimum``; None where it is not given."""
    if text is None:
        return None
    try:
        sham, destroy = (int(part) for part in text.split(","))
    except ValueError:
        sham = destroy = -1
    if min(sham, destroy) < 0:
        raise InputError(f"--minimum {text} must be two whole numbers, SHAM,DESTROY, such as 3,3")
    return [sham, destroy]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStopping:
    """By which plan a run stops its questions, and what that is expected to save.

    Parameters
    ----------
    plan : StoppingPlan
        The plan.
    expected : Curtailment or None
        None where a run goes on by the plan that it has: what it was made from is not needed.
    whom : str
        Whose questions the expectation is about.
    """

    plan: StoppingPlan
    expected: Curtailment | None = None
    whom: str = ""

    def expected_replays(self) -> dict[str, float] | None:
        """SHAM and DESTROY replays that are expected of a question."""
        if self.expected is None:
            return None
        return {"sham": self.expected.sham, "destroy": self.expected.destroy}

    def announce(self) -> str:
        """Lines to be said before a run starts.

        Returns
        -------
        str
            What every question gets, what that can tell, what is expected to be saved, and
            whether decisions may change.
        """
        sham, destroy = self.plan.guaranteed
        if sham and destroy:
            tells = (
                "figures for up to so many can be estimated from the stopped replays without bias,"
                " and no others"
            )
        else:
            tells = (
                "nothing about both can be estimated from the stopped replays: give a minimum"
                " (--minimum)"
            )
        begun = "" if self.expected else "as the run began: "
        lines = [f"{begun}{describe_plan(self.plan)}: {tells}"]
        if self.expected is not None:
            depends = (
                "which decisions change depends on that, too"
                if self.plan.changed
                else "only the cost depends on that, never a decision"
            )
            lines.append(
                f"expected to save {100 * self.expected.saving:.1f} % of the SHAM and DESTROY"
                f" replays, if questions are as {self.whom} ({depends})"
            )
        if self.plan.changed:
            such, found = "questions as it was planned for", ""
            if self.expected is not None:
                such, found = "such questions", f"{100 * self.expected.changed:.2g} % expected, "
            lines.append(
                f"up to {100 * self.plan.changed:g} % of the decisions on {such} differ from those"
                f" of all replays on average ({found}more or fewer in one run); for other"
                " questions that is no bound"
            )
        return "\n".join(f"stopping: {line}" for line in lines)


def plan_run(
    asked: StoppingOptions | None,
    k: Mapping[str, int],
    store: str | Path,
    source: Callable[[], Population | ReplayCounts],
    whom: str,
) -> RunStopping | None:
    """The stopping plan of a run: the one that it has, or a new one as it is asked for.

    Parameters
    ----------
    asked : StoppingOptions or None
        What is asked for; None where every replay is to be made.
    k : mapping of str to int
        Replays of each question, by condition.
    store : path
        The run's directory.
    source : callable
        Gives what questions are like. It is not called for a run that has its plan.
    whom : str
        Whose questions those are.

    Returns
    -------
    RunStopping or None
        None where every replay is made.

    Raises
    ------
    InputError
        What cannot be planned.
    PlanError
        The run has another plan.
    """
    from carve_stats.replay.stopping import check_stopping

    kept = _kept_plan(store, asked, k)
    if asked is None:
        return None
    if kept is not None:
        return RunStopping(plan=check_stopping(kept, k))
    from carve_stats.planning.curtailment import curtailment

    budget = k.get("sham", 1), k.get("destroy", 1)  # a run without is refused below
    if asked.minimum and (asked.minimum[0] > budget[0] or asked.minimum[1] > budget[1]):
        raise InputError(
            f"minimum={asked.minimum} (--minimum, or [stopping]) must not exceed the budget, k ="
            f" {budget[0]} SHAM and {budget[1]} DESTROY replays"
        )
    expected = curtailment(
        source(),
        k_sham=budget[0],
        k_destroy=budget[1],
        rule=asked.rule,
        order=asked.order,
        minimum=asked.minimum,
        changed=asked.changed,
    )
    return RunStopping(plan=check_stopping(expected.plan, k), expected=expected, whom=whom)


def _kept_plan(
    store: str | Path, asked: StoppingOptions | None, k: Mapping[str, int]
) -> StoppingPlan | None:
    """The stopping plan of a run that is there already, if it is the one that is asked for."""
    from carve_stats.replay.store import read_plan

    run = read_plan(store)
    if run is None:
        return None
    if run.stopping is None:
        if asked is not None:
            raise PlanError(
                f"{store} holds a run in which every replay is made: leave out --stop-when-decided"
                " (in the file: [stopping]), or give another store (--store)"
            )
        return None
    from carve_stats.law._flip_states import plan_rule
    from carve_stats.law.stopping import StoppingPlan

    plan = StoppingPlan.from_dict(run.stopping)
    if asked is None:
        options = f"--stop-when-decided {str(plan.rule)!r}"
        options += f" --order {plan.order}" if plan.order != "optimal" else ""
        options += f" --changed {plan.changed:g}" if plan.changed else ""
        raise PlanError(
            f"{store} holds a run that stops each question once {plan.rule!s} is decided: give"
            f" {options} as when it began, or another store (--store)"
        )
    budget = plan.k_sham, plan.k_destroy
    settings = (
        ("rule", "--stop-when-decided", str(plan.rule), str(plan_rule(asked.rule))),
        ("order", "--order", plan.order, asked.order),
        ("k", "--k", budget, (k.get("sham", budget[0]), k.get("destroy", budget[1]))),
        ("minimum", "--minimum", plan.minimum, asked.minimum or plan.minimum),
        ("changed", "--changed", plan.changed, asked.changed),
    )
    differences = [
        f"{name} was {was!r} and is {now!r} ({option})"
        for name, option, was, now in settings
        if was != now
    ]
    if differences:
        raise PlanError(
            f"{store} holds a run with another stopping plan: {'; '.join(differences)}; give the"
            " earlier settings, or another store (--store)"
        )
    return plan


def describe_plan(plan: StoppingPlan) -> str:
    """What is decided, in which order, and what every question gets."""
    sham, destroy = plan.guaranteed
    return (
        f"{plan.rule} in order {plan.order}; every question gets at least {sham} of {plan.k_sham}"
        f" SHAM and {destroy} of {plan.k_destroy} DESTROY replays"
    )


def tell_saving(
    plan: StoppingPlan, status: RunStatus, *, expected: Curtailment | None = None
) -> str:
    """What a run has spared, in the unit that was promised: its SHAM and DESTROY replays.

    Parameters
    ----------
    plan : StoppingPlan
        The run's plan.
    status : RunStatus
        How far it has come.
    expected : Curtailment, optional
        What was promised.

    Returns
    -------
    str
        One line, which says whether the run is finished.
    """
    full = status.questions * (plan.k_sham + plan.k_destroy)
    share = f"{100 * status.spared / full:.1f} %" if full else "none"
    promised = "" if expected is None else f" (expected {100 * expected.saving:.1f} %)"
    if status.finished:
        told = (
            f"finished: {full - status.spared} of {full} SHAM and DESTROY replays made, {share}"
            f" saved{promised}"
        )
    else:
        told = f"unfinished: {status.spared} of {full} SHAM and DESTROY replays spared so far"
    return f"stopping: {told}; {status.stopped} of {status.questions} questions stopped early"


def plan_summary(plan: StoppingPlan) -> dict[str, Any]:
    """A stopping plan for JSON, without its table."""
    minimum, guaranteed = (
        {"sham": sham, "destroy": destroy} for sham, destroy in (plan.minimum, plan.guaranteed)
    )
    return {
        "rule": str(plan.rule),
        "order": plan.order,
        "minimum": minimum,
        "guaranteed": guaranteed,
        "changed": plan.changed,
        "sha256": plan.sha256,
    }
