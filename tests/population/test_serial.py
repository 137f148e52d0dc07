"""JSON of populations: every bit comes back, and nothing else is taken for one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carve_stats.errors import InputError
from carve_stats.population.fit import fit_population
from carve_stats.population.mixing import Population


def bits(population):
    columns = (population.p_sham, population.p_destroy, population.weights)
    stratum = None if population.stratum is None else population.stratum.tolist()
    return [c.tobytes() for c in columns], stratum, population.family, population.fit


def again(population):
    return Population.from_json(population.to_json())


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e300), st.text()), min_size=1
    ).filter(lambda atoms: any(w > 0 for _, _, w, _ in atoms))
)
def test_atoms_come_back_to_the_last_bit(atoms):
    p_sham, p_destroy, weights, stratum = zip(*atoms, strict=True)
    assert bits(again(one := Population(p_sham, p_destroy, weights))) == bits(one)
    assert bits(again(one := Population(p_sham, p_destroy, weights, stratum=stratum))) == bits(one)


@pytest.mark.parametrize(
    "population",
    [
        Population.homogeneous(0.1, 1 / 3),
        Population.paper(),
        Population.beta(0.3, 0.2, 0.6, 3, correlation=-0.4, insensitive=0.1),
    ],
)
def test_constructors_come_back(population):
    back = again(population)
    assert bits(back) == bits(population)
    assert back.to_json() == population.to_json()
    assert back.summary(3).to_dict() == population.summary(3).to_dict()
    drawn, same = population.draw(50, clusters=5, rng=1), back.draw(50, clusters=5, rng=1)
    assert np.array_equal(drawn.p_destroy, same.p_destroy)
    assert not back.weights.flags.writeable


@pytest.mark.parametrize("method", ["em", "npmle", "copula"])
def test_fits_come_back(method):
    counts = Population.paper().sample(200, 3, rng=1)
    population = fit_population(counts, method=method)
    assert population.fit is not None
    assert bits(again(population)) == bits(population)
    assert bits(Population.from_json(population.to_json().encode())) == bits(population)


def test_the_text_is_json_for_anybody():
    plain = json.loads(Population([0.1, 0.2], [0.3, 0.4], [1, 3], stratum=["a", "b"]).to_json())
    assert plain == {
        "format": "carve_stats.Population",
        "version": 1,
        "p_sham": [0.1, 0.2],
        "p_destroy": [0.3, 0.4],
        "weights": [0.25, 0.75],
        "stratum": ["a", "b"],
        "family": None,
        "fit": None,
    }


def changed(population=None, **changes):
    plain = json.loads((population or Population([0.1, 0.2], [0.3, 0.4])).to_json())
    return json.dumps({**plain, **changes})


def without(name):
    plain = json.loads(Population.homogeneous(0.1, 0.2).to_json())
    del plain[name]
    return json.dumps(plain)


def family(**changes):
    beta = Population.beta(0.3, 2, 0.6, 2)
    return changed(beta, family={**json.loads(beta.to_json())["family"], **changes})


def fitted(**changes):
    population = fit_population(Population.paper().sample(50, 2, rng=1))
    return changed(population, fit={**json.loads(population.to_json())["fit"], **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "text is a NoneType: give the JSON of Population.to_json()"),
        ("", "population JSON: Input data was truncated"),
        ("{", "population JSON: Input data was truncated"),
        (b"\xff", "population JSON: "),
        ("[" * 10**6, "population JSON: "),
        ("[]", "population JSON: Expected `object`, got `array`"),
        ("{}", "population JSON: Object missing required field `format`"),
        (changed(format="other"), "population JSON: format='other' must be"),
        (changed(version=2), "population JSON: version=2 is not 1, the one that this"),
        (changed(version=2, weights=None), "population JSON: version=2 is not 1"),
        (changed(version="1"), "population JSON: Expected `int`, got `str` - at `$.version`"),
        (changed(atoms=[1]), "population JSON: Object contains unknown field `atoms`"),
        (without("fit"), "population JSON: Object missing required field `fit`"),
        (without("weights"), "population JSON: Object missing required field `weights`"),
        (
            changed(p_sham=[0.1, None]),
            "population JSON: Expected `float`, got `null` - at `$.p_sham[1]`",
        ),
        (
            changed(p_sham=[0.1, 1.5]),
            "p_sham[1]=1.5 must be a probability, between 0 and 1",
        ),
        (changed(p_sham=[0.1]), "p_destroy has shape (2,) and p_sham (1,): give one an atom"),
        (changed(p_sham=[]), "p_sham has shape (0,): give a list of at least one atom"),
        (changed(weights=[0.5, 0.6]), "population JSON: weights sum to 1.1, and must sum to 1"),
        (changed(weights=[1.5, -0.5]), "weights[1]=-0.5 must be a number of at least 0"),
        (changed(weights=[1.0]), "weights has shape (1,) and p_sham (2,): give one an atom"),
        (changed(stratum=["a"]), "stratum has shape (1,) and p_sham (2,): give one an atom"),
        (family(correlation=2), "population JSON: family: correlation=2.0 must be inside (-1, 1)"),
        (family(corelation=0.1), "population JSON: family needs concentration_destroy, "),
        (family(mean_sham="x"), "population JSON: family: Expected `array`, got `str`"),
        (
            family(mean_sham=[0.4]),
            "population JSON: p_sham are not those of the family's atoms: the two do not belong",
        ),
        (
            family(concentration_sham=2.5),
            "population JSON: p_sham are not those of the family's atoms",
        ),
        (
            family(correlation=0.1),
            "population JSON: p_destroy are not those of the family's atoms",
        ),
        (
            changed(Population.paper(), stratum=["x"] * Population.paper().weights.size),
            "population JSON: stratum has names that family.strata has not",
        ),
        (fitted(gap=1), "population JSON: fit needs copula, "),
        (fitted(questions="many"), "population JSON: fit: Expected `int`, got `str`"),
        (fitted(copula={"mean_sham": [0.5]}), "population JSON: fit"),
    ],
)
def test_anything_else_is_refused_in_one_line(text, message):
    with pytest.raises(InputError) as refusal:
        Population.from_json(text)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_what_a_refusal_of_parts_says():
    with pytest.raises(InputError, match=r"; corelation is not known$"):
        Population.from_json(family(corelation=0.1))
    plain = json.loads(Population.beta(0.3, 2, 0.6, 2).to_json())
    del plain["family"]["correlation"]
    with pytest.raises(InputError, match=r"; correlation is missing$"):
        Population.from_json(json.dumps(plain))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", "guess"),
        ("log_likelihood", 0.5),
        ("duality_gap", -1.0),
        ("questions", 0),
        ("left_out", -1),
    ],
)
def test_a_fit_that_cannot_be_is_refused(name, value):
    population = fit_population(Population.paper().sample(50, 3, rng=1), method="npmle")
    fit = json.loads(population.to_json())["fit"]
    with pytest.raises(InputError, match=f"fit.{name}="):
        Population.from_json(changed(population, fit={**fit, name: value}))
