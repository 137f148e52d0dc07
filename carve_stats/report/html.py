"""`write_report`: one HTML file that holds everything it shows and asks the network for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from errno import EISDIR
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from carve_stats.counts import ReplayCounts, check_counts
from carve_stats.errors import InputError
from carve_stats.inference.tie_excess import TieExcess
from carve_stats.replay.files import replace_file
from carve_stats.replay.store import RunStore
from carve_stats.report import tables, text
from carve_stats.report.distribution import ScoreDistribution, score_distribution
from carve_stats.report.examples import collect_examples
from carve_stats.report.figures import score_distribution_figure, sign_shares_figure
from carve_stats.report.provenance import input_entries, run_entries, software_entries
from carve_stats.report.svg import inline_svg

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["write_report"]


def write_report(
    path: str | Path,
    *,
    counts: ReplayCounts,
    excess: TieExcess,
    title: str,
    run: RunStore | str | Path | None = None,
    media: str | Path | None = None,
    attributions: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Path:
    """Write the report of an audit as one self-contained HTML file.

    Parameters
    ----------
    path : path
        The file to write; an older one is replaced at the very end, in one step.
    counts : ReplayCounts
        The log.
    excess : TieExcess
        Its tie excess, from `carve_stats.tie_excess`.
    title : str
        The report's title, in plain text.
    run : RunStore or path, optional
        The run that the counts came from. With it the report shows a dozen questions with what
        the agent saw and answered, and the run's plan.
    media : path, optional
        The folder that the frames' paths in the run are relative to. Without it no frames are
        shown.
    attributions : sequence of str
        Licences and authors of the clips, a line each.
    notes : sequence of str
        What a reader should know besides, a line each.

    Returns
    -------
    Path
        The file: style sheet, figures (SVG) and pictures (data URIs) are inside. The same
        arguments give the same bytes.

    Raises
    ------
    InputError
        A path that cannot be written, replays that were stopped early, or another run's; nothing
        is computed before that is known.

    Notes
    -----
    Every text that came from outside is escaped, and the page's content security policy
    forbids scripts and requests.

    Examples
    --------
    >>> import tempfile
    >>> from carve_stats import ReplayCounts, tie_excess
    >>> counts = ReplayCounts(
    ...     ["q1", "q2", "q3"], [1, 0, 2], [3] * 3, [2, 0, 3], [3] * 3, cluster=["a", "a", "b"]
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_report(
    ...         f"{folder}/report.html", counts=counts, excess=tie_excess(counts), title="Audit"
    ...     )
    ...     report.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    path = Path(path)
    _check_writable(path)
    check_counts(counts)
    if not isinstance(excess, TieExcess):
        raise InputError(
            f"excess is a {type(excess).__name__}: it must be what tie_excess(counts) gives"
        )
    if isinstance(run, str | Path):
        run = RunStore.load(run)
    if run is not None and run.stopping is not None:
        raise InputError(
            f"run={str(run.path)!r} stopped its questions early, the counts are of a full run:"
            " give the run that they were read from"
        )
    page = _render(
        title=title,
        counts=counts,
        excess=excess,
        examples=None if run is None else collect_examples(counts, run, media),
        media=media,
        figures=_figures(counts, excess),
        software=software_entries(),
        plan=() if run is None else run_entries(run),
        inputs=input_entries(counts, path),
        attributions=attributions,
        notes=_notes(counts, excess, notes),
    )
    replace_file(path, text.printable(page).encode())
    return path


def _render(**context: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("carve_stats.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clipped,
    )
    for function in (text.percent, text.points, text.score, text.plural, text.interval):
        environment.filters[function.__name__] = function
    return environment.get_template("report.html.j2").render(tables=tables, **context)


def _clipped(value: Any) -> Any:
    """Clip a text from outside; figures and pictures are markup."""
    return text.clipped(value) if type(value) is str else value


def _figures(counts: ReplayCounts, excess: TieExcess) -> dict[str, Any]:
    """Each figure drawn twice, for a screen and for a telephone; CSS shows one of them."""
    distribution = score_distribution(counts, excess)
    if distribution is None:
        return {"shares": (), "scores": (), "distribution": None}
    shares: list[Markup] = []
    scores: list[Markup] = []
    for css in ("wide", "narrow"):
        narrow = css == "narrow"
        shares.append(
            inline_svg(
                sign_shares_figure(excess, narrow=narrow),
                name=f"shares-{css}",
                title="Observed and predicted shares of negative, tied and positive scores",
                description=_describe_shares(excess),
                css=css,
            )
        )
        scores.append(
            inline_svg(
                score_distribution_figure(distribution, narrow=narrow),
                name=f"scores-{css}",
                title="Distribution of the score over questions, beside the exact law",
                description=_describe_scores(distribution),
                css=css,
            )
        )
    return {"shares": shares, "scores": scores, "distribution": distribution}


def _describe_shares(excess: TieExcess) -> str:
    words = {"negative": "Negative", "zero": "Tied", "positive": "Positive"}
    return " ".join(
        f"{word}: observed {text.percent(getattr(excess.observed, sign))}, predicted"
        f" {text.percent(getattr(excess.predicted, sign))}, excess"
        f" {text.points(getattr(excess.excess, sign).estimate)} points."
        for sign, word in words.items()
    )


def _describe_scores(distribution: ScoreDistribution) -> str:
    places = zip(
        distribution.support.tolist(),
        distribution.observed.tolist(),
        distribution.predicted.tolist(),
        strict=True,
    )
    return "Score: observed share, share by the law. " + "; ".join(
        f"{text.score(value)}: {text.percent(observed)}, {text.percent(predicted)}"
        for value, observed, predicted in places
    )


def _notes(counts: ReplayCounts, excess: TieExcess, notes: Sequence[str]) -> tuple[str, ...]:
    reading = () if counts.ledger is None else counts.ledger.notes
    return tuple(dict.fromkeys([*notes, *reading, *excess.notes]))


def _check_writable(path: Path) -> None:
    """Refuse a path that cannot be written before any work is done for it."""
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(
            f"path={str(path)!r} cannot be written ({error.strerror}): name a file in a folder"
            " that exists and is yours to write"
        ) from None
