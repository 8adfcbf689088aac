"""The figure of a decision boundary, compared with the model and the data."""

import numpy as np
import pytest
import torch

from callbacks.figures.decision_boundary import boundary_figure
from tests.callbacks.figures.reading import legend, points
from tests.callbacks.figures.toy_points import Learner, labels, learn

pytestmark = pytest.mark.filterwarnings("ignore::gpvae.ResolutionWarning")


def test_decision_boundary_shows_probability_classes_and_inducing_points() -> None:
    stream = labels(3, 120)
    module = learn(Learner("PivotedPoints", 15, "bernoulli", 0.5), stream, 2)
    ax = boundary_figure(module, stream.tasks, 2, 40, dpi=50).axes[0]
    assert legend(ax) == ["class 0", "class 1", "inducing points"]
    np.testing.assert_array_equal(points(ax, "inducing points"), module.gp.inducing.Z)
    now = stream.tasks[1]
    np.testing.assert_array_equal(points(ax, "class 1"), now.x_train[now.y_train == 1])
    past, present = ([artist.get_alpha() for artist in ax.lines[i : i + 2]] for i in (0, 2))
    assert max(past) < min(present)
    (at_half,) = [c for c in ax.collections if list(getattr(c, "levels", [])) == [0.5]]
    vertices = np.concatenate([path.vertices for path in at_half.get_paths()])
    p = module.predict(torch.from_numpy(vertices)).mean
    assert float((p - 0.5).abs().max()) < 0.02


def test_a_path_memory_has_no_inducing_points_to_show() -> None:
    stream = labels()
    module = learn(Learner("LegSPath", 8, "bernoulli", 0.5, inducing_options={"num_frequencies": 64}), stream, 1)
    assert module.gp.inducing.points is None
    ax = boundary_figure(module, stream.tasks, 1, 20, dpi=50).axes[0]
    assert legend(ax) == ["class 0", "class 1"]
