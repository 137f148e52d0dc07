"""Exact statistics, simulation and replay tools for CARVE audits of video agents.

``import carve_stats as cs`` loads nothing heavy: each name is imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Answerer": "outcomes",
    "Backbone": "report.paper_tables.inputs",
    "CarveStatsError": "errors",
    "Cost": "planning.costs",
    "FiniteReplayLaw": "law.finite_replay",
    "InputError": "errors",
    "Intervals": "logs.intervals",
    "Outcomes": "outcomes",
    "Overlap": "temporal",
    "PaperInputs": "report.paper_tables.inputs",
    "Population": "population.mixing",
    "ReplayCounts": "counts",
    "ReplayReply": "replay.protocols",
    "ReplayRequest": "replay.protocols",
    "ScoreRule": "law.score_rule",
    "SelfAnswers": "routing.self_answers",
    "SignShares": "law.finite_replay",
    "SpendLimit": "replay.costs.limits",
    "Trajectory": "replay.trajectories",
    "associations": "inference.association",
    "build_tables": "report.paper_tables",
    "check_independence": "replay.independence.report",
    "compare_methods": "routing.methods",
    "compare_policies": "routing.policies",
    "compare_rules": "routing.comparison",
    "compare_runs": "inference.compare",
    "compare_selective": "routing.selective",
    "curtailment": "planning.curtailment",
    "defer_questions": "replay.deferral.asking",
    "deferral_frontier": "routing.frontier",
    "evaluate_rule": "routing.evaluate",
    "exact_p_values": "law.exact_tests",
    "exact_test": "law.exact_tests",
    "finished_videos": "logs.finished",
    "fit_population": "population.fit",
    "flip_rates": "inference.rates",
    "homogeneity_test": "inference.homogeneity",
    "interval_table": "law.intervals",
    "mean_score": "inference.rates",
    "monitor_mean_score": "planning.monitoring",
    "parse_answer": "replay.parsing",
    "plan_budget": "planning.budget",
    "predict_signs": "inference.prediction",
    "price_run": "replay.costs.pricing",
    "question_posteriors": "inference.posterior",
    "read_benchmark": "logs.benchmarks",
    "read_intervals": "logs.evidence_intervals",
    "read_outcomes": "logs.outcomes",
    "read_prices": "replay.costs.prices",
    "read_replays": "logs.reader",
    "read_runs": "logs.runs",
    "read_self_answers": "logs.self_answers",
    "read_trajectories": "replay.trajectories",
    "reparse_run": "replay.reparse",
    "reproducibility": "inference.reproducibility",
    "risk_coverage": "routing.selective",
    "routing_curve": "routing.curve",
    "rule_transfer": "routing.transfer",
    "run_replays": "replay.loop",
    "score_intervals": "law.intervals",
    "score_table": "inference.scores",
    "self_consistency": "routing.self_consistency",
    "stopped_signs": "inference.stopped",
    "stopping_plan": "planning.curtailment",
    "stratified_scores": "inference.strata",
    "summarize_runs": "inference.run_summary",
    "temporal_overlap": "temporal",
    "tie_excess": "inference.tie_excess",
    "verify_estimator": "testing.verify",
    "verify_rule": "testing.rules.verify",
    "write_report": "report.html",
    "write_trajectories": "replay.trajectories",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from carve_stats.counts import ReplayCounts as ReplayCounts
    from carve_stats.errors import CarveStatsError as CarveStatsError
    from carve_stats.errors import InputError as InputError
    from carve_stats.inference.association import associations as associations
    from carve_stats.inference.compare import compare_runs as compare_runs
    from carve_stats.inference.homogeneity import homogeneity_test as homogeneity_test
    from carve_stats.inference.posterior import question_posteriors as question_posteriors
    from carve_stats.inference.prediction import predict_signs as predict_signs
    from carve_stats.inference.rates import flip_rates as flip_rates
    from carve_stats.inference.rates import mean_score as mean_score
    from carve_stats.inference.reproducibility import reproducibility as reproducibility
    from carve_stats.inference.run_summary import summarize_runs as summarize_runs
    from carve_stats.inference.scores import score_table as score_table
    from carve_stats.inference.stopped import stopped_signs as stopped_signs
    from carve_stats.inference.strata import stratified_scores as stratified_scores
    from carve_stats.inference.tie_excess import tie_excess as tie_excess
    from carve_stats.law.exact_tests import exact_p_values as exact_p_values
    from carve_stats.law.exact_tests import exact_test as exact_test
    from carve_stats.law.finite_replay import FiniteReplayLaw as FiniteReplayLaw
    from carve_stats.law.finite_replay import SignShares as SignShares
    from carve_stats.law.intervals import interval_table as interval_table
    from carve_stats.law.intervals import score_intervals as score_intervals
    from carve_stats.law.score_rule import ScoreRule as ScoreRule
    from carve_stats.logs.benchmarks import read_benchmark as read_benchmark
    from carve_stats.logs.evidence_intervals import read_intervals as read_intervals
    from carve_stats.logs.finished import finished_videos as finished_videos
    from carve_stats.logs.intervals import Intervals as Intervals
    from carve_stats.logs.outcomes import read_outcomes as read_outcomes
    from carve_stats.logs.reader import read_replays as read_replays
    from carve_stats.logs.runs import read_runs as read_runs
    from carve_stats.logs.self_answers import read_self_answers as read_self_answers
    from carve_stats.outcomes import Answerer as Answerer
    from carve_stats.outcomes import Outcomes as Outcomes
    from carve_stats.planning.budget import plan_budget as plan_budget
    from carve_stats.planning.costs import Cost as Cost
    from carve_stats.planning.curtailment import curtailment as curtailment
    from carve_stats.planning.curtailment import stopping_plan as stopping_plan
    from carve_stats.planning.monitoring import monitor_mean_score as monitor_mean_score
    from carve_stats.population.fit import fit_population as fit_population
    from carve_stats.population.mixing import Population as Population
    from carve_stats.replay.costs.limits import SpendLimit as SpendLimit
    from carve_stats.replay.costs.prices import read_prices as read_prices
    from carve_stats.replay.costs.pricing import price_run as price_run
    from carve_stats.replay.deferral.asking import defer_questions as defer_questions
    from carve_stats.replay.independence.report import check_independence as check_independence
    from carve_stats.replay.loop import run_replays as run_replays
    from carve_stats.replay.parsing import parse_answer as parse_answer
    from carve_stats.replay.protocols import ReplayReply as ReplayReply
    from carve_stats.replay.protocols import ReplayRequest as ReplayRequest
    from carve_stats.replay.reparse import reparse_run as reparse_run
    from carve_stats.replay.trajectories import Trajectory as Trajectory
    from carve_stats.replay.trajectories import read_trajectories as read_trajectories
    from carve_stats.replay.trajectories import write_trajectories as write_trajectories
    from carve_stats.report.html import write_report as write_report
    from carve_stats.report.paper_tables import build_tables as build_tables
    from carve_stats.report.paper_tables.inputs import Backbone as Backbone
    from carve_stats.report.paper_tables.inputs import PaperInputs as PaperInputs
    from carve_stats.routing.comparison import compare_rules as compare_rules
    from carve_stats.routing.curve import routing_curve as routing_curve
    from carve_stats.routing.evaluate import evaluate_rule as evaluate_rule
    from carve_stats.routing.frontier import deferral_frontier as deferral_frontier
    from carve_stats.routing.methods import compare_methods as compare_methods
    from carve_stats.routing.policies import compare_policies as compare_policies
    from carve_stats.routing.selective import compare_selective as compare_selective
    from carve_stats.routing.selective import risk_coverage as risk_coverage
    from carve_stats.routing.self_answers import SelfAnswers as SelfAnswers
    from carve_stats.routing.self_consistency import self_consistency as self_consistency
    from carve_stats.routing.transfer import rule_transfer as rule_transfer
    from carve_stats.temporal import Overlap as Overlap
    from carve_stats.temporal import temporal_overlap as temporal_overlap
    from carve_stats.testing.rules.verify import verify_rule as verify_rule
    from carve_stats.testing.verify import verify_estimator as verify_estimator


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
