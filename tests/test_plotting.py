"""Pictures: what is drawn is what the agent says; files; clear errors for what cannot be drawn."""

import sys

import numpy as np
import pytest

import ocpfast as ocp
from ocpfast.plotting import draw_pendulum, pendulum_picture, plot_values

pytest.importorskip("matplotlib", reason="no matplotlib: pip install '.[plot]'")


def panels(figure):
    """Titles of the maps, and what they show."""
    return {axes.get_title(): axes.collections[0].get_array() for axes in figure.axes if axes.get_title()}


@pytest.fixture(scope="module")
def balancing():
    pendulum = ocp.InvertedPendulum()
    agent = ocp.OCP(ocp.StateAggregation(pendulum.partition(), n_actions=3), selection="first")
    [agent] = ocp.run(agent, pendulum, episodes=60, progress=False, keep_agents=True).agents
    return agent


def test_a_grid_of_two_dimensions(balancing, tmp_path):
    figure = balancing.plot_values(tmp_path / "values.png")
    assert (tmp_path / "values.png").read_bytes().startswith(b"\x89PNG")
    shown = panels(figure)
    assert list(shown) == ["upper value", "lower value", "action with the largest upper value"]
    axes = figure.axes[0]
    mesh = axes.collections[0]
    corners = mesh.get_coordinates()
    assert corners.shape == (32, 32, 2)
    finite = 0
    for row, column in np.ndindex(31, 31):
        middle = (corners[row, column] + corners[row + 1, column + 1]) / 2
        uppers = [balancing.upper(middle, action) for action in range(3)]
        assert shown["action with the largest upper value"][row, column] == np.argmax(uppers)
        value = shown["upper value"][row, column]
        assert value is np.ma.masked if max(uppers) == np.inf else value == max(uppers)
        lowers = max(balancing.lower(middle, action) for action in range(3))
        value = shown["lower value"][row, column]
        assert value is np.ma.masked if lowers == -np.inf else value == lowers
        finite += max(uppers) < np.inf
    assert finite > 10
    assert f"not determined ({31 * 31 - finite} of 961)" in figure.get_supxlabel()
    inner = balancing.hypothesis.partition.edges
    np.testing.assert_allclose(corners[0, 1:-1, 0], inner[0])  # the outer bins are closed for the picture
    np.testing.assert_allclose(corners[1:-1, 0, 1], inner[1])


def test_a_table_by_period_and_state():
    agent = ocp.OCP(ocp.TabulaRasa(6, 2, horizon=6))
    [agent] = ocp.run(agent, ocp.Chain(6), episodes=40, progress=False, keep_agents=True).agents
    figure = plot_values(agent)
    shown = panels(figure)
    assert list(shown) == ["upper value", "action with the largest upper value"]  # lower values are not tracked
    for state, period in np.ndindex(6, 6):
        upper = max(agent.upper(state, action, period) for action in range(2))
        value = shown["upper value"][state, period]
        assert value is np.ma.masked if upper == np.inf else value == upper
    assert figure.axes[0].get_xlabel() == "period"
    assert figure.axes[0].get_ylabel() == "state"


def test_undetermined_cells_with_bounds_are_hatched():
    agent = ocp.OCP(ocp.TabulaRasa(3, 2, horizon=2, lower="exact"), bounds=(0.0, 5.0))
    agent.act(0)
    agent.observe(1, 0.0, terminated=True)
    figure = plot_values(agent)
    [hatched] = figure.axes[0].patches
    corners = hatched.get_path().to_polygons(closed_only=True)
    assert len(corners) == 6  # all of them: the other action of state 0 is still better
    assert sorted(tuple(cell.mean(axis=0, where=[[True]] * 4 + [[False]])) for cell in corners) == [
        (period, state) for period in range(2) for state in range(3)
    ]
    assert (panels(figure)["upper value"] == 5.0).all()
    assert (panels(figure)["lower value"] == 0.0).all()


def test_a_grid_of_one_dimension():
    grid = ocp.Grid([[0.0, 1.0]])
    agent = ocp.OCP(ocp.StateAggregation(grid, n_actions=1, horizon=2, lower="exact"))
    agent.act([0.5])
    agent.observe([0.5], 3.0, terminated=True)
    figure = agent.plot_values(period=0)
    upper, lower = (patch.get_data() for patch in figure.axes[0].patches[:2])
    assert np.array_equal(upper.edges, [-1.0, 0.0, 1.0, 2.0])
    for curve in (upper, lower):
        np.testing.assert_array_equal(curve.values, [np.nan, 3.0, np.nan])
    assert np.isnan(agent.plot_values(period=1).axes[0].patches[0].get_data().values).all()
    with pytest.raises(ValueError, match=r"period: expected an integer in 0\.\.1, got 2"):
        agent.plot_values(period=2)


def test_what_cannot_be_drawn(monkeypatch):
    with pytest.raises(TypeError, match=r"TabulaRasa or StateAggregation, got .*LinearFeatures"):
        ocp.OCP(ocp.LinearFeatures(np.ones((2, 3, 2, 1)))).plot_values()
    cube = ocp.StateAggregation(ocp.Grid([[0.0]] * 3), n_actions=2)
    with pytest.raises(ValueError, match="expected a grid of one or two dimensions, got 3"):
        ocp.OCP(cube).plot_values()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"plot_values: needs matplotlib; pip install 'ocpfast\[plot\]'"):
        ocp.OCP(ocp.TabulaRasa(3, 2, horizon=2)).plot_values()
    with pytest.raises(ImportError, match="draw_pendulum: needs matplotlib"):
        draw_pendulum([0.0, 0.0])


def test_the_pendulum_leans_to_the_side_of_its_angle(tmp_path):
    right, left = pendulum_picture([0.7, 0.0]), pendulum_picture([-0.7, 0.0])
    assert right.shape == (400, 600, 3)
    rod = [np.all(picture == [255, 127, 14], axis=2) for picture in (right, left)]  # matplotlib's orange
    assert rod[0][:, 310:].sum() > 500 > rod[0][:, :290].sum()
    assert rod[1][:, :290].sum() > 500 > rod[1][:, 310:].sum()
    assert not np.array_equal(pendulum_picture([0.7, 2.0]), right)
    axes = draw_pendulum([2.0, 1.0], tmp_path / "fallen.svg")
    assert "fallen" in axes.get_title()
    assert b"<svg" in (tmp_path / "fallen.svg").read_bytes()
    assert draw_pendulum([0.0, 0.0], axes=axes) is axes


@pytest.mark.parametrize("state", [[0.0], [0.0, np.nan], [[0.0, 0.0]], "up"])
def test_no_state_of_a_pendulum(state):
    with pytest.raises((TypeError, ValueError), match="state: expected an angle and an angular velocity"):
        draw_pendulum(state)


def test_a_dimension_without_edges():
    agent = ocp.OCP(ocp.StateAggregation(ocp.Grid([[0.0, 1.0], []]), n_actions=2, horizon=2))
    figure = plot_values(agent)
    assert figure is not None
