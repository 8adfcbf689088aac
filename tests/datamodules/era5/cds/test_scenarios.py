"""However the Climate Data Store fails, the right data are downloaded in the end, or an error says what to do."""

import logging
import re
import time
from pathlib import Path

import pytest

from datamodules.era5.cds import retry
from gpvae.cli import commands, lightning_cli
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import check_data, check_no_key, check_no_key_in_files, left_over, stream
from tests.datamodules.era5.cds.scenarios import SCENARIOS
from tests.datamodules.era5.cds.server import Store

SLACK = 20.0  # seconds that a busy machine may take for the rest


@pytest.mark.usefixtures("hurried", "_as_in_a_shell")
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(
    name: str,
    store: Store,
    weather: Weather,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    scenario, data = SCENARIOS[name], tmp_path / "data"
    scenario.set_up(store)
    monkeypatch.setattr(retry, "FIRST_PAUSE", scenario.pause)
    monkeypatch.setattr(retry, "TIMEOUT", scenario.timeout)
    began, said = time.monotonic(), ""
    monkeypatch.setattr(lightning_cli, "StreamCLI", lambda argv: stream(download_hours=scenario.hours).prepare_data())
    if scenario.says:
        with pytest.raises(SystemExit) as exit_:
            commands.main(["fit"])
        said = str(exit_.value.code)
        assert re.fullmatch(f"error: .*{scenario.says}.*", said), said  # one line, for the dot is none
    else:
        commands.main(["fit"])
    assert time.monotonic() - began < 3600 * scenario.hours + SLACK
    assert left_over(data) == []
    store.repair()
    stream().prepare_data()
    check_data(weather)  # so what was under a final name before is right too, for it is kept
    assert left_over(data) == []
    assert scenario.num_posts in (None, len(store.posts))
    check_no_key(said, caplog.text, *capsys.readouterr())
    check_no_key_in_files(tmp_path)
