"""Every file in `configs/` runs, and is what its name says."""

from pathlib import Path

import pytest
from gpytorch.kernels import MaternKernel, RBFKernel

from gpvae.metrics import for_likelihood
from gpvae.modules.learners import FreeFormLearner, OnePass
from tests.configs.expected import DATA, METHODS, Data, Method
from tests.configs.runs import CONFIGS, NAMES, arguments, expect_warnings, read, run

NUM_TASKS = 2


def expected(name: str) -> tuple[Data, Method]:
    """What a config should be; a new one is to be described in `expected.py`."""
    data, _, method = name.partition("_")
    assert data in DATA, f"say in tests/configs/expected.py what {data} is"
    assert method in METHODS, f"say in tests/configs/expected.py what {method} is"
    return DATA[data], METHODS[method]


def iterates(name: str) -> bool:
    """Whether a config takes iterations."""
    return "steps_per_epoch" in arguments(name, "data")


@expect_warnings
@pytest.mark.parametrize("name", NAMES)
def test_runs_and_is_what_its_name_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, method = expected(name)
    quick = [f"--data.stop_after={NUM_TASKS}", "--figures.enabled=false", *data.shorter]
    quick += ["--data.steps_per_epoch=2"] if iterates(name) else []
    done = run(monkeypatch, tmp_path, name, *quick)

    assert {key[:2] for key in done.table.scores} == {(1, 1), (2, 1), (2, 2)}
    assert {key[2] for key in done.table.scores} == {
        metric + seen for metric in for_likelihood(_likelihood(name)) for seen in ("", "_seen")
    }
    model = done.model()
    assert tuple(type(posterior.inducing) for posterior in model.gp.posteriors) == method.families
    assert type(model.gp.likelihood) is data.likelihood
    assert type(model.gp.kernel.base_kernel) is (MaternKernel if name.endswith("ovff") else RBFKernel)
    assert type(model.learner) is _learner(name, method)
    assert getattr(model.gp.inducing, "ordering", None) == method.ordering
    assert model.learned == NUM_TASKS


@pytest.mark.parametrize("name", NAMES)
def test_has_the_numbers_of_the_paper(name: str) -> None:
    data, method = expected(name)
    model, stream = arguments(name, "model"), arguments(name, "data")
    assert read(name)["data"]["class_path"] == data.name
    assert model["num_inducing"] == (10 if name == "toy_figure_1" else data.num_inducing)
    if iterates(name):
        assert (stream["steps_per_epoch"], model["lr"]) == (data.steps, data.lr)
    else:
        assert _learner(name, method) is not FreeFormLearner
    if name.endswith("_trained"):
        assert model["hyperparameters"] == "train_always"
    if data.name not in ("Toy", "TwoMoons"):
        assert stream["statistics"] == "global"


@pytest.mark.parametrize("name", NAMES)
def test_begins_with_a_comment_that_fits_the_screen(name: str) -> None:
    lines = (CONFIGS / f"{name}.yaml").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert "paper" in lines[0] or "ours" in lines[0] or "covid_ohsvgp" in lines[0]
    assert max(map(len, lines)) <= 120


def _likelihood(name: str) -> str:
    return arguments(name, "model").get("likelihood", "gaussian")


def _learner(name: str, method: Method) -> type:
    """Where the likelihood is not Gaussian, or the config says so, q(u) is free-form instead of in closed form."""
    free = _likelihood(name) != "gaussian" or arguments(name, "model").get("inference") == "free_form"
    return FreeFormLearner if method.learner is OnePass and free else method.learner
