"""`carve-stats simulate`: the synthetic population through the loop, and through `python:`."""

import numpy as np
import pytest

import carve_stats as cs


def test_shares_are_the_populations_within_sampling_error(command_json):
    n = 4000
    result = command_json("simulate", "homogeneous", "--p-sham", 0.3, "--p-destroy", 0.6,
                          "--questions", n, "--clusters", 400, "--seed", 1)  # fmt: skip
    law = cs.FiniteReplayLaw(0.3, 0.6, k=3).signs()
    for sign, share in law._asdict().items():
        assert result["population"][sign] == pytest.approx(share, rel=1e-13)
        observed = result["excess"]["observed"][sign]
        assert abs(observed - share) < 4 * np.sqrt(share * (1 - share) / n)
    assert result["status"]["done"] == 9 * n


def test_two_runs_over_the_same_questions(tmp_path, command_json):
    arguments = ("simulate", "paper", "--questions", 60, "--clusters", 6, "--k", 2)
    runs = {}
    for seeds in ((1, 1), (1, 2), (2, 2)):
        store = tmp_path / "-".join(map(str, seeds))
        command_json(*arguments, "--questions-seed", seeds[0], "--seed", seeds[1], "--store", store)
        runs[seeds] = cs.read_replays(store)
    assert (runs[1, 1].cluster == runs[1, 2].cluster).all()
    assert (runs[1, 1].sham_flips != runs[1, 2].sham_flips).any()
    assert (runs[1, 2].cluster != runs[2, 2].cluster).any()
    # Rates are shared by runs over the same questions, and the seed alone draws those of (2, 2).
    assert cs.reproducibility(runs[1, 1], runs[1, 2]).observed.pearson.estimate > 0.2
    plain = tmp_path / "plain"
    command_json(*arguments, "--seed", 2, "--store", plain)
    assert (cs.read_replays(plain).destroy_flips == runs[2, 2].destroy_flips).all()


def test_a_kept_run_is_resumed_and_read_like_any_log(tmp_path, command_json, command):
    arguments = ("simulate", "paper", "--questions", 50, "--clusters", 10, "--seed", 3)
    first = command_json(*arguments, "--store", tmp_path / "run")
    segments = sorted((tmp_path / "run/segments").iterdir())
    again = command_json(*arguments, "--store", tmp_path / "run")
    assert again == first
    assert sorted((tmp_path / "run/segments").iterdir()) == segments
    assert command_json("excess", tmp_path / "run") == first["excess"]
    assert command_json("status", tmp_path / "run").items() >= first["status"].items()
    topped_up = command_json(*arguments, "--store", tmp_path / "run", "--k", 5)
    assert topped_up["status"]["done"] == 50 * 5 * 3
    # With the smaller k again the run still holds, and shows, the larger one; so does the truth.
    lowered = command_json(*arguments, "--store", tmp_path / "run")
    assert lowered["excess"]["k"] == {"sham": 5, "destroy": 5}
    assert lowered["population"] == topped_up["population"]


def test_atoms_from_a_file(tmp_path, command_json, refused):
    path = tmp_path / "atoms.csv"
    path.write_text("p_sham,p_destroy,weight\n0,0,3\n1,1,3\n0,0.5,11\n1,0.5,11\n")
    # This population has no tie excess at k = 3: its ties are those of its mean rates.
    result = command_json("simulate", path, "--questions", 100, "--clusters", 5, "--seed", 1)
    assert result["population"]["zero"] == pytest.approx(cs.FiniteReplayLaw(0.5, 0.5, k=3).tie())
    for text, word in {
        "p_sham,p_destroy\n0,1\n": "weight",
        "p_sham,p_destroy,weight\n0,x,1\n": "line 2",
        "p_sham,p_destroy,weight\n0,1.5,1\n": "1.5",
        "p_sham,p_destroy,weight\n0,1\n": "line 2",
        "": "p_sham",
    }.items():
        path.write_text(text)
        assert word in refused("simulate", path, "--seed", 1)
    assert "homogeneous" in refused("simulate", tmp_path / "none.csv", "--seed", 1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("paper", "--k", 0), "k=0"),
        (("homogeneous", "--p-sham", 1.5, "--p-destroy", 0.5), "1.5"),
        (("homogeneous", "--p-sham", "nan", "--p-destroy", 0.5), "nan"),
        (("homogeneous",), "--p-sham"),
        (("paper", "--p-sham", 0.5), "homogeneous"),
        (("paper", "--clusters", 10, "--questions", 5), "clusters"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, word, tmp_path, refused):
    assert word in refused("simulate", *arguments, "--seed", 1, "--store", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_questions_that_stop_when_decided(tmp_path, command, command_json, refused):
    n, store = 1500, tmp_path / "run"
    arguments = ("simulate", "homogeneous", "--p-sham", 0.3, "--p-destroy", 0.6, "--seed", 1,
                 "--questions", n, "--clusters", 150, "--k", 5, "--store", store,
                 "--stop-when-decided", "score <= 0")  # fmt: skip
    code, out, err = command(*arguments, "--minimum", "2,2")
    assert code == 0
    population = cs.Population.homogeneous(0.3, 0.6)
    found = cs.curtailment(population, k=5, minimum=(2, 2))
    assert f"expected to save {100 * found.saving:.1f} %" in err
    assert "if questions are as in this population" in err
    assert f"(expected {100 * found.saving:.1f} %); " in out
    result = command_json(*arguments)
    assert result["stopping"]["guaranteed"] == {"sham": 2, "destroy": 2}
    assert result["stopping"]["sha256"] == found.plan.sha256
    assert result["status"]["spared"] / (10 * n) == pytest.approx(found.saving, abs=0.02)
    assert result["excess"]["k"] == {"sham": 2, "destroy": 2}
    for sign, share in population.signs(2)._asdict().items():
        assert result["population"][sign] == pytest.approx(share, rel=1e-13)
        assert result["excess"]["observed"][sign] == pytest.approx(share, abs=0.06)
    assert "--order" in refused(*arguments, "--order", "alternate")
    other = (*arguments[:-2], "--store", tmp_path / "other")
    assert "--stop-when-decided" in refused(*other, "--changed", 0.01)
    assert "--minimum 1,1" in refused(*other, *arguments[-2:], "--minimum", "0,1")
    assert not (tmp_path / "other").exists()
