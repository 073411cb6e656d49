"""Loss plots show the losses they are given."""

import matplotlib
import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.losses import Ball, EpsilonInsensitive, Huber, MaximumMargin, Norm, Power, Squared
from rkhs.plots import loss_maps, loss_profiles

matplotlib.use("Agg")
LOSSES = {"squared": Squared(), "Huber": Huber(0.5), "insensitive": EpsilonInsensitive(1.0), "margin": MaximumMargin()}


@pytest.fixture(autouse=True)
def _close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_profiles_are_the_losses():
    ax = loss_profiles(LOSSES, limit=2.0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(LOSSES)
    r, values = ax.lines[1].get_data()
    np.testing.assert_allclose(values, np.where(np.abs(r) <= 0.5, r**2 / 2, 0.5 * (np.abs(r) - 0.25)), atol=1e-12)


def test_maps_have_one_panel_a_loss():
    figure = loss_maps({**LOSSES, "ball": Ball(1.0)})
    assert [ax.get_title() for ax in figure.axes if ax.get_visible() and ax.get_title()] == [*LOSSES, "ball"]


def test_bad_arguments_are_refused():
    for losses, limit, match in [
        ({}, 1.0, "non-empty mapping"),
        ({"a": "huber"}, 1.0, r"losses\['a'\] must be a loss"),
        (LOSSES, 0.0, "limit must be > 0"),
        ({str(i): Norm() for i in range(7)} | {"p": Power()}, 1.0, "at most 6 losses"),
    ]:
        with pytest.raises(InputError, match=match):
            loss_profiles(losses, limit)
