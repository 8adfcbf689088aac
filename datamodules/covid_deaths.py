"""SIVEP-Gripe, the Brazilian register of severe respiratory illness: daily deaths from its summary."""

import csv
import lzma
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

FIRST_DAY, LAST_DAY = date(2020, 3, 1), date(2021, 2, 7)


def deaths_in_santa_catarina(summary: Path) -> bytes:
    """Daily deaths with severe acute respiratory illness in the state of Santa Catarina.

    The summary counts events by date, age and town. Here its column `ob.srag` (deaths) is summed over the rows of
    the state, `sg_uf` = SC, by date, `dt_evento`; a day without a row had no deaths.

    Args:
        summary: The summary, a CSV file compressed by xz.

    Returns:
        A CSV file with the columns `date` and `deaths`, and a row for each day from 2020-03-01 to 2021-02-07.
    """
    deaths: Counter[str] = Counter()
    with lzma.open(summary, "rt", encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            if row["sg_uf"] == "SC" and row["ob.srag"] != "NA":
                deaths[row["dt_evento"]] += int(row["ob.srag"])
    days = ((FIRST_DAY + timedelta(days=n)).isoformat() for n in range((LAST_DAY - FIRST_DAY).days + 1))
    lines = ["date,deaths", *(f"{day},{deaths[day]}" for day in days)]
    return "".join(f"{line}\n" for line in lines).encode()
