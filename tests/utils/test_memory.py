"""Free memory is the least of what the machine, control groups and limits leave."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpvae.utils import memory


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 GB free, in which the process is in no control group."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n")
    return tmp_path


def group(folder: Path, limit: str, used: int, cached: int = 0, names: tuple[str, str] = ("max", "current")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"memory.{names[0]}").write_text(f"{limit}\n")
    (folder / f"memory.{names[1]}").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")


def test_of_the_machine(machine: Path) -> None:
    assert memory.free_memory() == 8_000_000 * 1024


@pytest.mark.parametrize("where", ["a/b", "a"])
def test_of_a_control_group_or_one_above_it(where: str, machine: Path) -> None:
    (machine / "proc" / "self" / "cgroup").write_text("0::/a/b\n")
    group(machine / "cgroup" / "a" / "b", "max", 10)
    group(machine / "cgroup" / where, "3000000000", 1_500_000_000, 500_000_000)
    assert memory.free_memory() == 2e9


def test_of_a_control_group_of_the_first_version(machine: Path) -> None:
    (machine / "proc" / "self" / "cgroup").write_text("3:cpu:/x\n2:memory:/x\n")
    group(machine / "cgroup" / "memory" / "x", "1000000000", 400_000_000, names=("limit_in_bytes", "usage_in_bytes"))
    assert memory.free_memory() == 6e8


@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are those of Linux")
def test_of_a_limit_of_addresses() -> None:
    code = (
        "import resource; from gpvae.utils.memory import free_memory; "
        "resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, -1)); print(free_memory())"
    )
    free = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert 0 < free < 3 * 2**30


def test_what_does_not_fit_is_refused(machine: Path) -> None:
    memory.check_fits(7e9, "Values", "choose fewer")
    with pytest.raises(ValueError, match=r"^Values take about 9 GB of memory, and 8.19 GB are free: choose fewer.$"):
        memory.check_fits(9e9, "Values", "choose fewer")
