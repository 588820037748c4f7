"""help() and tab completion: everything public is documented, with an example and the parameters that it has."""

import inspect
import re
import types

import pytest

import ocpfast as ocp

MODULES = (ocp, ocp.theory, ocp.signatures, ocp.systems)
# Classes that are not called by users: made by ocpfast, or to be derived from.
NOT_CALLED = (
    ocp.Agent, ocp.Certificate, ocp.ExecutorError, ocp.Hypothesis, ocp.Interrupted, ocp.Solution, ocp.System,
    ocp.theory.ExplorationBound, ocp.theory.PartitionCount, ocp.theory.SuboptimalBound,
)  # fmt: skip
SILENT = ("save", "to_csv", "begin_episode")  # return nothing
SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "Examples")


def sections_of(text):
    """The sections of a NumPy docstring, by title."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section):
    """The names that a section describes, in their order."""
    heads = re.findall(r"^\**(\w[\w, ]*) :", section, flags=re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


def parameters_of(value):
    return [name for name in inspect.signature(value).parameters if name != "self"]


def public():
    """All that a user can name: (name, object)."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            place = f"{module.__name__}.{name}"
            if isinstance(value, types.ModuleType) or id(value) in {id(one) for one in found.values()}:
                continue
            found[place] = value
            if not inspect.isclass(value):
                continue
            for member in dir(value):
                origin = next(base for base in value.__mro__ if member in vars(base))
                if not member.startswith("_") and origin.__module__.startswith("ocpfast"):
                    found[f"{place}.{member}"] = inspect.getattr_static(value, member)
    return found


PUBLIC = public()
CALLABLE = {
    place: value
    for place, value in PUBLIC.items()
    if callable(value) and not isinstance(value, ocp.signatures.Signature) and not place.endswith("next_double")
}


@pytest.mark.parametrize("place", CALLABLE)
def test_what_can_be_called_is_documented(place):
    value = CALLABLE[place]
    text = value.__doc__
    assert text and not text.lstrip().startswith(("(", place.rpartition(".")[2] + "(")), "noise before the text"
    sections = sections_of(text)
    assert set(sections) <= set(SECTIONS)
    parameters = parameters_of(value)
    assert not {"args", "kwargs", "arguments", "keywords"} & set(parameters)
    if value in NOT_CALLED:
        assert set(documented(sections.get("Attributes", ""))) <= {*dir(value), *parameters}
    else:
        assert documented(sections.get("Parameters", "")) == parameters
    assert ">>>" in sections.get("Examples", "") or place.endswith("Signature.numba"), "no example"  # needs numba
    if not inspect.isclass(value) and place.rpartition(".")[2] not in SILENT:
        assert "Returns" in sections


@pytest.mark.parametrize("place", [place for place in PUBLIC if place not in CALLABLE])
def test_properties_are_documented(place):
    value = PUBLIC[place]
    owner = PUBLIC.get(place.rpartition(".")[0])
    if isinstance(value, property) or inspect.isgetsetdescriptor(value):
        assert value.__doc__
    elif owner is not None:  # a field of a record, or a constant
        assert place.rpartition(".")[2] in documented(sections_of(owner.__doc__)["Attributes"])
    else:
        assert isinstance(value, ocp.signatures.Signature)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_modules_show_what_is_public(module):
    shown = [name for name in dir(module) if not name.startswith("_")]
    assert sorted(shown) == sorted(name for name in module.__all__ if not name.startswith("_"))
    assert len(set(module.__all__)) == len(module.__all__)
    assert module.__doc__ and all(hasattr(module, name) for name in module.__all__)


def test_the_help_of_the_package():
    text = ocp.__doc__
    example = [line for line in text.splitlines() if line.startswith(">>>")]
    assert 4 <= len(example) <= 7
    named = set(re.findall(r"`(\w+)`", text))
    assert named <= set(ocp.__all__)
    assert {"OCP", "run", "solve", "theory", "PythonSystem", "CompiledSystem"} <= named


@pytest.mark.parametrize(
    "value",
    [ocp.OCP(ocp.TabulaRasa(3, 2, 3)), ocp.Chain(3), ocp.Result([[0.0]]), ocp.Grid([[0.0]]), ocp.TabulaRasa(3, 2, 3)],
    ids=lambda value: type(value).__name__,
)
def test_completion_of_objects_is_tidy(value):
    names = [name for name in dir(value) if not name.startswith("_")]
    assert names
    for name in names:
        origin = next(base for base in type(value).__mro__ if name in vars(base))
        assert origin.__module__.startswith("ocpfast")
    assert not [name for name in dir(value) if "cython" in name or "pybind" in name]
