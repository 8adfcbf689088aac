"""Covid: counts, and the small file that is made from a large public one."""

import hashlib
import lzma
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from datamodules import Covid, public_files
from datamodules.covid_deaths import deaths_in_santa_catarina

NAME, RAW = "covid_santa_catarina.csv", "sum_dados_2021_02_08.csv.xz"
# As R writes it: quoted names and words, NA for what is missing.
SUMMARY = b"""\
"dt_evento","age_class","co_mun_res","sg_uf","srag","covid","ob.srag","ob.covid"
2020-03-01,"age_7",420540,"SC",1,0,0,0
2020-03-03,"age_7",420540,"SC",1,0,2,0
2020-03-03,"age_8",420910,"SC",1,0,1,0
2020-03-03,"age_8",355030,"SP",9,9,9,9
2021-02-07,NA,420910,"SC",1,0,5,1
2020-02-29,"age_8",420910,"SC",1,0,4,0
2021-02-08,"age_8",420910,"SC",1,0,4,0
NA,"age_8",420910,"SC",1,0,4,0
2020-03-04,"age_8",420910,"SC",1,0,NA,0
2020-03-04,"age_8",420910,NA,1,0,7,0
"""


@pytest.fixture
def derived(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    """What SUMMARY gives, registered as the content of the Covid file."""
    (tmp_path / "raw").write_bytes(lzma.compress(SUMMARY))
    content = deaths_in_santa_catarina(tmp_path / "raw")
    file = replace(public_files.FILES[NAME], sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(public_files, "FILES", {NAME: file})
    return content


def test_deaths_are_summed_over_the_state_by_day(derived: bytes) -> None:
    lines = derived.decode().split("\n")
    assert lines[:6] == ["date,deaths", "2020-03-01,0", "2020-03-02,0", "2020-03-03,3", "2020-03-04,0", "2020-03-05,0"]
    assert lines[-2:] == ["2021-02-07,5", ""]
    assert len(lines) == 1 + 344 + 1


def test_layout_is_that_of_the_real_file(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    """A summary made of the real counts gives the real file back, byte for byte."""
    real = real_data(NAME).read_bytes()
    rows = [line.replace(",", ",SC,") for line in real.decode().splitlines()[1:]]
    (tmp_path / "raw").write_bytes(lzma.compress("\n".join(["dt_evento,sg_uf,ob.srag", *rows]).encode()))
    assert deaths_in_santa_catarina(tmp_path / "raw") == real


def test_file_is_made_from_the_download_and_used_again(
    derived: bytes, folder: Path, serve: Callable[[dict[str, bytes]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve({RAW: lzma.compress(SUMMARY)})
    Covid().prepare_data()
    assert (folder / NAME).read_bytes() == derived
    assert sorted(os.listdir(folder)) == [NAME, RAW]
    monkeypatch.setattr(public_files, "BASE_URL", "http://127.0.0.1:1")
    assert public_files.fetch(NAME) == folder / NAME


def test_a_download_by_hand_will_do(derived: bytes, folder: Path) -> None:
    folder.mkdir()
    (folder / RAW).write_bytes(lzma.compress(SUMMARY))
    assert public_files.fetch(NAME).read_bytes() == derived


def test_no_network_says_what_from_where_and_where_to_put_it(folder: Path) -> None:
    with pytest.raises(ConnectionError) as caught:
        Covid().prepare_data()
    message = str(caught.value)
    assert f"{NAME} is not in {folder}" in message
    assert f"http://127.0.0.1:1/covid19br/sumario_SIVEP/52d3275c5c63b477462c907b28f616fa0425d1fe/{RAW}" in message
    assert str(folder / RAW) in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(SUMMARY.replace(b",5,1", b",6,1")), r"(?s)is not the .* it should be.*expected SHA-256.*found"),
        (lzma.compress(b"a,b\n1,2\n"), "cannot be made from .*KeyError"),
        (b"not compressed", "cannot be made from .*LZMAError"),
    ],
)
@pytest.mark.usefixtures("derived")
def test_another_summary_is_refused_and_left_alone(folder: Path, content: bytes, message: str) -> None:
    folder.mkdir()
    (folder / RAW).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        public_files.fetch(NAME)
    assert f"{folder / RAW} was left as it is" in str(caught.value)
    assert os.listdir(folder) == [RAW]


@pytest.mark.usefixtures("derived")
def test_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError("No space left on device")

    folder.mkdir()
    (folder / RAW).write_bytes(lzma.compress(SUMMARY))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"(?s)No space left on device.*GPVAE_DATA_DIR"):
        public_files.fetch(NAME)


def test_five_tasks_of_counts(real_data: Callable[[str], Path]) -> None:
    real_data(NAME)
    stream = Covid(statistics="global")
    stream.setup()
    assert [len(task.x_train) for task in stream.tasks] == [55] * 5
    x = torch.cat([part for task in stream.tasks for part in (task.x_train, task.x_test)])
    y = torch.cat([part for task in stream.tasks for part in (task.y_train, task.y_test)])
    torch.testing.assert_close(x[:, 0].sort().values, torch.linspace(0, 10, 344, dtype=torch.float64))
    assert y.dtype == torch.float64
    assert torch.equal(y, y.round())
    assert float(y.min()) == 0.0
    assert stream.likelihood == "negative_binomial"


def test_counts_stay_counts_whatever_sets_the_scale(real_data: Callable[[str], Path]) -> None:
    real_data(NAME)
    one, other = Covid(), Covid(statistics="global")
    one.setup()
    other.setup()
    assert all(torch.equal(a.y_test, b.y_test) for a, b in zip(one.tasks, other.tasks, strict=True))
    assert float(one.task_data(0)[0].max()) == 2.0
