"""Every file in `configs/` runs, and has the data and the method that its name states."""

from pathlib import Path

import pytest
from gpytorch.kernels import MaternKernel, RBFKernel

import datamodules
from gpvae.metrics import for_likelihood
from gpvae.modules.learners import FreeFormLearner, OnePass
from tests.configs.expected import DATA, METHODS, Data, Method
from tests.configs.runs import CONFIGS, NAMES, SCORED, arguments, expect_warnings, read, run

NUM_TASKS = 2


def expected(name: str) -> tuple[Data, Method]:
    """What a config should be, from `expected.py`."""
    data, _, method = name.partition("_")
    assert data in DATA, f"add {data} to DATA in tests/configs/expected.py"
    assert method in METHODS, f"add {method} to METHODS in tests/configs/expected.py"
    return DATA[data], METHODS[method]


def is_iterative(name: str) -> bool:
    """Whether a config trains by gradient steps."""
    return "steps_per_epoch" in arguments(name, "data")


@expect_warnings
@pytest.mark.parametrize("name", NAMES)
def test_runs_and_is_what_its_name_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, method = expected(name)
    quick = [f"--data.stop_after={NUM_TASKS}", "--figures.enabled=false", *data.quick]
    quick += ["--data.steps_per_epoch=2"] if is_iterative(name) else []
    done = run(monkeypatch, tmp_path, name, *quick)

    metrics = [*for_likelihood(_likelihood(name)), *_skills(name, data.name)]
    assert {score[:3] for score in done.table.rows()} == {
        (after_task, task, metric) for after_task, task in SCORED for metric in metrics
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
    if is_iterative(name):
        assert (stream["steps_per_epoch"], model["lr"]) == (data.steps, data.lr)
    else:
        assert _learner(name, method) is not FreeFormLearner
    if name.endswith("_trained"):
        assert model["hyperparameters"] == "train_always"
    if data.name not in ("Toy", "TwoMoons"):
        assert stream["statistics"] == "global"


@pytest.mark.parametrize("name", NAMES)
def test_begins_with_a_comment_and_has_short_lines(name: str) -> None:
    lines = (CONFIGS / f"{name}.yaml").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert "paper" in lines[0] or "ours" in lines[0] or "covid_ohsvgp" in lines[0]
    assert max(map(len, lines)) <= 120


def _likelihood(name: str) -> str:
    return arguments(name, "model").get("likelihood", "gaussian")


def _skills(name: str, data: str) -> list[str]:
    """The skills that make sense: none for counts and labels, over persistence where there is an order."""
    if _likelihood(name) != "gaussian":
        return []
    return ["skill_variance", *(["skill_persistence"] if getattr(datamodules, data).input_dim == 1 else [])]


def _learner(name: str, method: Method) -> type:
    """Methods in closed form use a free-form q(u) if the likelihood is not Gaussian or the config says so."""
    free = _likelihood(name) != "gaussian" or arguments(name, "model").get("inference") == "free_form"
    return FreeFormLearner if method.learner is OnePass and free else method.learner
