"""Prequential scores by lead time: sums add up to the scores of all values, and survive files."""

from pathlib import Path

import pytest
import torch
from torch.distributions import Normal

from gpvae.metrics import CRPS, NLPD, RMSE, Coverage, Foresight, ForesightCell, ForesightTable, read_foresight
from gpvae.utils.lead_times import EDGES, GROUPS, lead_group

NAMES = ("nlpd", "rmse", "crps", "coverage")


def foreseen(task: int) -> tuple[Foresight, dict[str, torch.Tensor]]:
    rng = torch.Generator().manual_seed(task)
    data = {
        "target": torch.randn(500, generator=rng),
        "lead": torch.randint(1, 200, (500,), generator=rng).double(),
        "variable": torch.randint(2, (500,), generator=rng),
    }
    foresight = Foresight(NAMES, num_variables=2)
    for part in (slice(0, 200), slice(200, 500)):
        some = {name: value[part] for name, value in data.items()}
        foresight.update(Normal(torch.zeros_like(some["target"]), 0.7), **some)
    return foresight, data


@pytest.fixture
def table() -> ForesightTable:
    return ForesightTable(cell for task in (2, 3) for cell in foreseen(task)[0].cells(task, ["t2m", "tp"]))


@pytest.mark.parametrize(("name", "kind"), list(zip(NAMES, (NLPD, RMSE, CRPS, Coverage), strict=True)))
@pytest.mark.parametrize("lead", ["", *GROUPS])
@pytest.mark.parametrize("variable", ["", "t2m", "tp"])
@pytest.mark.parametrize("task", [None, 3])
def test_scores_are_those_of_the_chosen_values(
    table: ForesightTable, name: str, kind: type[NLPD], lead: str, variable: str, task: int | None
) -> None:
    metric, count = kind(), 0
    for number in (2, 3) if task is None else (task,):
        data = foreseen(number)[1]
        chosen = torch.ones(500, dtype=torch.bool)
        if lead:
            ends = (0.0, *EDGES, torch.inf)
            group = GROUPS.index(lead)
            chosen &= (data["lead"] > ends[group]) & (data["lead"] <= ends[group + 1])
        if variable:
            chosen &= data["variable"] == ("t2m", "tp").index(variable)
        target = data["target"][chosen]
        metric.update(Normal(torch.zeros_like(target), 0.7), target)
        count += len(target)
    score = table.score(name, task, lead, variable)
    assert score.value == pytest.approx(float(metric.compute()), rel=1e-6)
    assert score.num_values == count


def test_coverage_by_group_and_variable() -> None:
    foresight, data = foreseen(2)
    inside = data["target"].abs() <= 0.7 * Normal(0.0, 1.0).icdf(torch.tensor(0.95))
    for group in range(len(GROUPS)):
        for variable in range(2):
            chosen = (lead_group(data["lead"]) == group) & (data["variable"] == variable)
            assert float(foresight.coverage()[group, variable]) == pytest.approx(float(inside[chosen].float().mean()))


def test_skill_is_one_minus_the_ratio_of_squared_errors(table: ForesightTable) -> None:
    squares = {key: sums for key, sums in table.cells.items() if key[2] == "rmse"}
    table.add(
        ForesightCell(task, lead, "squared_error_climatology", variable, 2 * total, count)
        for (task, lead, _, variable), (total, count) in squares.items()
    )
    assert table.metrics == [*NAMES, "skill_climatology"]
    assert table.score("skill_climatology", 2, "6-24", "tp").value == pytest.approx(0.5)


def test_the_file_has_every_score(table: ForesightTable, tmp_path: Path) -> None:
    table.write(tmp_path / "foresight.csv")
    rows = read_foresight(tmp_path / "foresight.csv")
    assert rows == table.scores()
    assert len(rows) == 3 * 5 * 4 * 3
    (tmp_path / "foresight.csv").write_text("task,lead\n")
    with pytest.raises(ValueError, match="expected the columns task,lead,metric"):
        read_foresight(tmp_path / "foresight.csv")


def test_later_tasks_are_dropped(table: ForesightTable) -> None:
    table.drop_after(2)
    assert table.tasks == [2]
