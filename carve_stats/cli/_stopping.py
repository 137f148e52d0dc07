"""What commands say of a run that stops questions early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan
    from carve_stats.planning.curtailment import Curtailment
    from carve_stats.replay.config import RunConfig

__all__ = ["announcement", "plan_run", "plan_summary"]


def plan_run(settings: RunConfig) -> Curtailment | None:
    """The stopping plan that a configuration asks for and what it saves; None if it asks for none.

    Parameters
    ----------
    settings : RunConfig
        The configuration.

    Returns
    -------
    Curtailment or None
        Under the population fitted to the pilot, or that of the paper.
    """
    asked = settings.stopping
    if asked is None:
        return None
    from carve_stats.logs.reader import read_replays
    from carve_stats.planning.curtailment import curtailment
    from carve_stats.population.mixing import Population
    from carve_stats.replay.stopping import check_stopping

    k = settings.k
    k = dict(k) if not isinstance(k, int) else dict.fromkeys(settings.conditions, k)
    source = Population.paper() if asked.pilot is None else read_replays(asked.pilot)
    expected = curtailment(
        source,
        k_sham=k.get("sham", 1),  # a run without is refused below
        k_destroy=k.get("destroy", 1),
        rule=asked.rule,
        order=asked.order,
        minimum=asked.minimum,
    )
    check_stopping(expected.plan, k)
    return expected


def announcement(expected: Curtailment, *, pilot: bool) -> str:
    """Two lines to be said before a run starts.

    Parameters
    ----------
    expected : Curtailment
        The plan and what it saves.
    pilot : bool
        Whether the population was fitted to a pilot.

    Returns
    -------
    str
        What every question gets, what that can tell, and what is expected to be saved.
    """
    plan, (sham, destroy) = expected.plan, expected.guaranteed
    if sham and destroy:
        tells = (
            "figures for up to so many can be estimated from the stopped replays without bias, and"
            " no others"
        )
    else:
        tells = "nothing about both can be estimated from the stopped replays: give a minimum"
    whom = "those of the pilot" if pilot else "in the paper; give a pilot to know better"
    return (
        f"stopping: {plan.rule} in order {plan.order}; every question gets at least {sham} of"
        f" {plan.k_sham} SHAM and {destroy} of {plan.k_destroy} DESTROY replays: {tells}\n"
        f"stopping: expected to save {100 * expected.saving:.1f} % of these replays, if questions"
        f" are as {whom} (only the cost depends on that, never a decision)"
    )


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
        "sha256": plan.sha256,
    }
