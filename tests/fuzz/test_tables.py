"""Whatever a table of scores holds, `gpvae summary` shows it, or says what is wrong with it."""

import itertools
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.outcomes import Tally, tried
from tests.fuzz.tables import summarise
from tests.fuzz.worker import Worker

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


def test_wrong_tables(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    tally, read, numbers = Tally("tables of scores"), Worker(summarise), itertools.count()
    odd = rows.map(lambda rows: "\n".join([HEADER, *rows]).encode("utf-8", "surrogatepass"))

    @tried(60)
    @given(st.one_of(damaged(TABLE.encode()), odd))
    def try_one(content: bytes) -> None:
        path = tmp_path / f"{next(numbers)}.csv"
        path.write_bytes(content)
        outcome = read(str(path))
        tally.add(outcome._replace(detail=f"{path.name}: {outcome.detail}"))

    try_one()
    read.close()
    record_property("fuzz", tally.row)
    assert not tally.faults, tally.report
