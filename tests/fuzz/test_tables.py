"""`gpvae summary` shows a damaged table of scores, or refuses it by an error message."""

import itertools
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.tables import summarise
from tests.fuzz.trials import Record, try_inputs

HEADER = "after_task,task,metric,value"
TABLE = "\n".join(
    [
        HEADER,
        *(f"{after},{task},{m},0.5" for m in ("nlpd", "rmse:t2m") for after in (1, 2) for task in range(1, after + 1)),
    ]
)
cells = st.one_of(
    st.sampled_from(["1", "2", "-1", "1e9", "99999999999", "nan", "inf", "nlpd", "", '"']), st.text(max_size=5)
)
rows = st.lists(st.lists(cells, max_size=5).map(",".join), max_size=5)


def test_wrong_tables(tmp_path: Path, record_property: Record) -> None:
    odd = rows.map(lambda rows: "\n".join([HEADER, *rows]).encode("utf-8", "surrogatepass"))
    inputs, numbers = st.one_of(damaged(TABLE.encode()), odd), itertools.count()
    try_inputs("tables of scores", summarise, inputs, 60, lambda: tmp_path / f"{next(numbers)}.csv", record_property)
