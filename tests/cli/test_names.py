"""How data are fetched is no part of the name of a run."""

import pytest

from gpvae.cli.run_folder import default_name


@pytest.mark.parametrize("option", ["download_hours", "refetch_preliminary", "stop_after", "predict_every"])
@pytest.mark.parametrize("section", ["data", "data.init_args"])
def test_options_that_leave_the_data_as_they_are(option: str, section: str) -> None:
    assert default_name(["era5.yaml"], [f"--{section}.{option}", "1"]) == "era5"
