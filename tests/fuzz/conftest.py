"""The counts of all inputs tried, at the end of a run."""

import pytest

HEADER = ["inputs", "tried", "refused", "taken", "crashes", "silent NaN"]


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded as `fuzz`, and the sum."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    rows = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == "fuzz"]
    if not rows:
        return
    total = ["all", *(str(sum(int(row[column]) for row in rows)) for column in range(1, len(HEADER)))]
    terminalreporter.section("inputs tried")
    for row in [HEADER, *sorted(rows), total]:
        terminalreporter.line(f"{row[0]:40}" + "".join(f"{cell:>12}" for cell in row[1:]))
