"""The replay loop: puts the missing replays of a run to an agent and stores what it answers.

The loop does not know whether the agent is real. Everything that can be wrong is looked for
before the first call and the first write.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from carve_stats.counts import CONDITIONS
from carve_stats.errors import AgentError, InputError, one_line, unknown_name
from carve_stats.replay.costs.limits import SpendLimit
from carve_stats.replay.engines import choose_engine, run_engine
from carve_stats.replay.evidence.frames import Encoder
from carve_stats.replay.extent import check_replays
from carve_stats.replay.independence.canary import send_canary
from carve_stats.replay.independence.canary_report import CANARY_MODES, read_canaries
from carve_stats.replay.operators import Operator, load_operator
from carve_stats.replay.parsing import PARSER_VERSION
from carve_stats.replay.plan import RunPlan
from carve_stats.replay.progress import RunStatus
from carve_stats.replay.protocols import (
    Agent,
    Checking,
    Fingerprinted,
    Rendering,
)
from carve_stats.replay.rendering import EvidenceRenderer
from carve_stats.replay.replaying import Replayer
from carve_stats.replay.stopping import check_stopping
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import Trajectory, check_distinct
from carve_stats.replay.work import Work

if TYPE_CHECKING:
    from carve_stats.law.stopping import StoppingPlan

__all__ = ["PreparedRun", "prepare_run", "run_replays"]


def run_replays(
    agent: Agent,
    trajectories: Sequence[Trajectory],
    *,
    k: int | Mapping[str, int],
    store: str | Path,
    seed: int,
    conditions: Sequence[str] = CONDITIONS,
    attempts: int = 1,
    workers: int = 1,
    engine: str = "local",
    stochastic: bool | None = None,
    canary: str = "stop",
    operator: Operator | None = None,
    encoder: Encoder | None = None,
    crop: float = 0.02,
    media: str | Path | None = None,
    equal: Callable[[str, str], bool] | None = None,
    agent_spec: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    stopping: StoppingPlan | None = None,
    limit: SpendLimit | None = None,
) -> RunStatus:
    """Run the replays that a run does not have yet.

    The same call resumes a run that was stopped or killed; more questions or a larger k top
    it up. Which replays are made, in what order, and by how many workers changes nothing in
    the records but their times.

    Parameters
    ----------
    agent : callable
        Takes a `ReplayRequest`, gives a `ReplayReply` or a str; a coroutine function works.
        With several workers a plain function is called from as many threads.
    trajectories : sequence of Trajectory
        The questions, with their frozen answers.
    k : int or mapping of str to int
        Replays of each question in each condition, at most a million.
    store : path
        The run's directory: new, empty, or a run with the same plan.
    seed : int
        Every replay's seed derives from it.
    conditions : sequence of str
        Which of ``self``, ``sham`` and ``destroy`` to run.
    attempts : int
        How often a repetition is put to the agent at most: again only while its answer is
        invalid. Every attempt is stored.
    workers : int
        How many replays are made at a time: by threads, or in one event loop where `agent` is a
        coroutine function.
    engine : str
        ``local``, or ``ray`` for the workers of a Ray cluster.
    stochastic : bool, optional
        Whether the agent's replies to one prompt vary; what the agent itself declares if not
        given. See `Declaring` in `carve_stats.replay.protocols`.
    canary : str
        Before a run whose evidence has frames a few requests are sent that differ in their
        pictures alone, two if their replies do. Where those never do, ``stop`` raises an error,
        ``warn`` logs a warning; ``off`` sends none.
    operator : Operator, optional
        What destroys frames; the phase-randomising one if not given.
    encoder : Encoder, optional
        How SHAM and DESTROY frames are encoded; ``Encoder()`` if not given.
    crop : float
        The largest share that the re-rendering crops, in [0, 1).
    media : path, optional
        The folder that paths of frames and videos are relative to; the current one if not
        given.
    equal : callable, optional
        Whether two answers, the replay's and the frozen one, are the same. Needed for
        questions without options; the others compare labels.
    agent_spec : mapping, optional
        How a configuration names the agent, for the run's plan.
    progress : callable, optional
        Called with the number of replays done and the number asked for, first before the
        first replay; never by two threads at once. What is spared counts as done.
    stopping : StoppingPlan, optional
        Make SHAM and DESTROY replays of a question one after another as it says, and none once
        the question is decided. It must be for the same `k`, and its rule without ``=``. An
        invalid replay is spent: it is not made up for. SELF replays are all made.
    limit : SpendLimit, optional
        What the whole run may spend. Where it lets no more replays be made, those in flight are
        finished, and `SpendLimit.reached` says so; it is no part of the plan.

    Returns
    -------
    RunStatus
        Of the whole run.

    Raises
    ------
    InputError
        Something that cannot be right, before anything is called or written.
    PlanError
        The store holds a run with another plan.
    AgentError
        The agent raised something other than a transport failure, or gave something that is
        no reply. What was finished is stored.

    Notes
    -----
    A failure to reach the agent (`ConnectionError`, `TimeoutError`, a failed name lookup, or
    what urllib, httpx and openai raise for these) is a record with status
    ``transport_error``, and a further attempt may follow it. A reply's own `answer` wins over
    its text, and one whose `finish_reason` is ``length`` is truncated, unless it has an
    `answer`.

    Examples
    --------
    >>> import tempfile
    >>> question = Trajectory(question_id="q1", answer="A", options={"A": "yes", "B": "no"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(run_replays(lambda request: "The answer is B.", [question], k=3,
    ...                       store=folder, seed=1))
    9 of 9 replays done (9 valid, 0 invalid)
    """
    _check_whole("workers", workers, least=1)
    if progress is not None and not callable(progress):
        raise InputError(f"progress={progress!r} must be callable")
    if limit is not None and not isinstance(limit, SpendLimit):
        raise InputError(f"limit={limit!r} must be a SpendLimit, as SpendLimit(max_calls=100)")
    prepared = prepare_run(
        agent,
        trajectories,
        k=k,
        store=store,
        seed=seed,
        conditions=conditions,
        attempts=attempts,
        stochastic=stochastic,
        operator=operator,
        encoder=encoder,
        crop=crop,
        media=media,
        equal=equal,
        agent_spec=agent_spec,
        stopping=stopping,
    )
    if canary not in CANARY_MODES:
        raise InputError(f"canary={canary!r} must be one of {', '.join(CANARY_MODES)}")
    chosen = choose_engine(engine, agent, workers=workers)
    trajectories = prepared.trajectories
    with RunStore.open(
        prepared.store, prepared.plan, k=prepared.k, trajectories=trajectories
    ) as run:
        replayer = Replayer(
            agent=agent,
            renderer=prepared.renderer,
            run_id=run.run_id,
            seed=seed,
            equal=equal,
            stopping=None if stopping is None else stopping.sha256,
        )
        if limit is not None:
            limit.begin(run, captions=isinstance(agent, Rendering))
        work = Work(run, trajectories, prepared.k, progress, limit=limit)
        if work.left:
            _look_before(run, replayer, trajectories, canary, limit)
        if limit is not None and limit.alone:
            run_engine(choose_engine(engine, agent, workers=1), replayer, work)
            limit.release()
        run_engine(chosen, replayer, work)
        if limit is not None:
            limit.end(held=work.held)
        return run.progress.status()


def _look_before(
    run: RunStore,
    replayer: Replayer,
    trajectories: Sequence[Trajectory],
    mode: str,
    limit: SpendLimit | None,
) -> None:
    """Send the canary, where there is something that it can find out and it was not sent."""
    pictured = any(item.pictured for t in trajectories for item in t.evidence)
    if mode == "off" or not pictured or run.plan.conditions == ("self",):
        return
    if limit is None:
        send_canary(run, replayer, trajectories, mode=mode)
        return
    sent = len(read_canaries(run.path))
    try:
        try:
            send_canary(run, replayer, trajectories, mode=mode, affords=limit.affords)
        finally:
            for report in read_canaries(run.path)[sent:]:
                limit.add_canary(report)
    except AgentError:
        limit.check_canary()
        raise


class PreparedRun(NamedTuple):
    """A run of which everything that can be wrong has been looked at, and nothing is written.

    Parameters
    ----------
    trajectories : list of Trajectory
        The questions.
    k : dict of str to int
        Replays of each question, by condition.
    store : Path
        The run's directory.
    plan : RunPlan
        What all replays have in common.
    renderer : EvidenceRenderer
        What prepares evidence.
    """

    trajectories: list[Trajectory]
    k: dict[str, int]
    store: Path
    plan: RunPlan
    renderer: EvidenceRenderer


def prepare_run(
    agent: Agent,
    trajectories: Sequence[Trajectory],
    *,
    k: int | Mapping[str, int],
    store: str | Path,
    seed: int,
    conditions: Sequence[str] = CONDITIONS,
    attempts: int = 1,
    stochastic: bool | None = None,
    operator: Operator | None = None,
    encoder: Encoder | None = None,
    crop: float = 0.02,
    media: str | Path | None = None,
    equal: Callable[[str, str], bool] | None = None,
    agent_spec: Mapping[str, Any] | None = None,
    stopping: StoppingPlan | None = None,
) -> PreparedRun:
    """Look at everything that can be wrong with a run, without a call and without writing.

    Parameters
    ----------
    agent, trajectories, k, store, seed, conditions, attempts, stochastic, operator, encoder, crop
        As for `run_replays`.
    media, equal, agent_spec, stopping
        As for `run_replays`.

    Returns
    -------
    PreparedRun
        What `run_replays` begins with.

    Raises
    ------
    InputError
        Something that cannot be right.
    """
    trajectories = _check_list("trajectories", trajectories)
    conditions = _check_conditions(conditions)
    replays = _check_k(k, conditions)
    _check_whole("attempts", attempts, least=1)
    _check_whole("seed", seed, least=0)
    _check_trajectories(trajectories, equal)
    if not callable(agent):
        raise InputError(f"agent={agent!r} must be callable with a ReplayRequest")
    _check_parts(operator, encoder, equal, agent_spec)
    if stopping is not None:
        stopping = check_stopping(stopping, replays)
    store = _check_path("store", store).absolute()  # an agent may change the current directory
    media = _check_path("media", "." if media is None else media)
    # Whether there are frames to be rendered or not: questions to come may have some.
    rendered = conditions != ("self",)
    if rendered:
        operator = load_operator("phase") if operator is None else operator
        encoder = Encoder() if encoder is None else encoder
    renderer = EvidenceRenderer(
        run_seed=seed,
        operator=operator,
        encoder=encoder,
        crop=crop,
        media=media,
        captions=isinstance(agent, Rendering),
    )
    renderer.check(trajectories, conditions)
    if isinstance(agent, Checking):
        agent.check_trajectories(trajectories, conditions)
    plan = RunPlan(
        seed=seed,
        conditions=conditions,
        attempts=attempts,
        agent=_describe_agent(agent, agent_spec, stochastic),
        operator=operator.parameters() if rendered and operator else None,
        encoder=asdict(encoder) if rendered and encoder else None,
        crop=float(crop) if rendered else None,
        parser_version=PARSER_VERSION,
        stopping=None if stopping is None else stopping.to_dict(),
    )
    return PreparedRun(trajectories, replays, store, plan, renderer)


def _check_conditions(conditions: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(conditions, list | tuple) or not conditions:
        raise InputError(f"conditions={conditions!r} must be a list of some of {CONDITIONS}")
    for condition in conditions:
        if condition not in CONDITIONS:
            raise InputError(unknown_name("condition", condition, CONDITIONS))
    if len(set(conditions)) < len(conditions):
        raise InputError(f"conditions={tuple(conditions)!r} must name each condition once")
    return tuple(c for c in CONDITIONS if c in conditions)


def _check_k(k: int | Mapping[str, int], conditions: tuple[str, ...]) -> dict[str, int]:
    if not isinstance(k, Mapping):
        check_replays("k", k)
        k = dict.fromkeys(conditions, k)
    for condition in k:
        if condition not in conditions:
            raise InputError(unknown_name("condition of k", condition, conditions))
    for condition in conditions:
        if condition not in k:
            raise InputError(f"k={dict(k)!r} has no entry for condition {condition!r}: give one")
        check_replays(f"k of {condition}", k[condition])
    return {condition: k[condition] for condition in conditions}


def _check_whole(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number of at least {least}")


def _check_list(name: str, value: Any) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise InputError(f"{name}={value!r:.40} must be a list of Trajectory objects") from None


def _check_path(name: str, value: Any) -> Path:
    try:
        path = Path(value)
        path.exists()
    except OSError as error:
        raise InputError(f"{name}={str(value)!r:.80} cannot be used: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={value!r:.80} must be a path ({error})") from None
    if "\0" in str(path):
        raise InputError(f"{name}={str(value)!r:.80} must be a path: it has a NUL character")
    return path


def _check_parts(operator: Any, encoder: Any, equal: Any, agent_spec: Any) -> None:
    if operator is not None and not (
        callable(operator) and callable(getattr(operator, "parameters", None))
    ):
        raise InputError(
            f"operator={operator!r} must be callable and have parameters(): give"
            " load_operator(name)"
        )
    if encoder is not None and not isinstance(encoder, Encoder):
        raise InputError(f"encoder={encoder!r} must be an Encoder, as Encoder('png')")
    if equal is not None and not callable(equal):
        raise InputError(f"equal={equal!r} must be callable")
    if agent_spec is not None and not isinstance(agent_spec, Mapping):
        raise InputError(f"agent_spec={agent_spec!r} must map names to plain values")


def _check_trajectories(
    trajectories: Sequence[Trajectory], equal: Callable[[str, str], bool] | None
) -> None:
    if not trajectories:
        raise InputError("trajectories=[] must hold at least one question")
    for trajectory in trajectories:
        if not isinstance(trajectory, Trajectory):
            raise InputError(
                f"trajectories holds {trajectory!r:.40}: it must hold Trajectory objects, as"
                " read_trajectories(path) gives them"
            )
    check_distinct(trajectories)
    for trajectory in trajectories:
        if not trajectory.options and equal is None:
            raise InputError(
                f"question {trajectory.question_id!r} has no options: give run_replays"
                " equal=, which says whether two answers are the same (in Python only)"
            )


def _describe_agent(
    agent: Agent, spec: Mapping[str, Any] | None, stochastic: bool | None
) -> dict[str, Any]:
    named = agent if hasattr(agent, "__qualname__") else type(agent)
    description: dict[str, Any] = {"name": f"{named.__module__}:{named.__qualname__}"}
    if spec is not None:
        description["spec"] = dict(spec)
    declared = getattr(agent, "stochastic", None) if stochastic is None else stochastic
    if declared is not None:
        if not isinstance(declared, bool):
            raise InputError(f"stochastic={declared!r} must be True, False or None")
        description["stochastic"] = declared
    if isinstance(agent, Fingerprinted):
        try:
            description["fingerprint"] = dict(agent.fingerprint())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise AgentError(f"agent's fingerprint() failed: {one_line(error)}") from error
    else:
        # Replays of an edited agent are replays of another agent.
        description["source_sha256"] = _hash_source(named)
    return description


def _hash_source(named: Any) -> str | None:
    """Hash of the file that defines an agent; None where there is none, as in a notebook."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(named))
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except (TypeError, OSError):
        return None
