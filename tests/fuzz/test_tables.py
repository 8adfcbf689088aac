"""`gpvae summary` shows a damaged table of scores, or refuses it by an error message."""

import itertools
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.tables import summarise
from tests.fuzz.trials import Record, try_inputs

HEADERS = ("after_task,task,metric,variable,value", "after_task,task,metric,value")
TABLES = [
    "\n".join(
        [header, *(f"{after},{task},{m},0.5" for m in metrics for after in (1, 2) for task in range(1, after + 1))]
    )
    for header, metrics in zip(HEADERS, (("nlpd,", "rmse,t2m"), ("nlpd", "rmse:t2m")), strict=True)
]
cells = st.one_of(
    st.sampled_from(["1", "2", "-1", "1e9", "99999999999", "nan", "inf", "nlpd", "", '"']), st.text(max_size=5)
)
rows = st.lists(st.lists(cells, max_size=5).map(",".join), max_size=5)


def test_wrong_tables(tmp_path: Path, record_property: Record) -> None:
    odd = st.tuples(st.sampled_from(HEADERS), rows).map(lambda made: "\n".join([made[0], *made[1]]))
    encoded = odd.map(lambda text: text.encode("utf-8", "surrogatepass"))
    inputs, numbers = st.one_of(*(damaged(table.encode()) for table in TABLES), encoded), itertools.count()
    try_inputs("tables of scores", summarise, inputs, 60, lambda: tmp_path / f"{next(numbers)}.csv", record_property)
