"""Streaming posteriors of many series, distributed over processes, in memory or in files."""

import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from gpvae.inducing import InducingVariables
from gpvae.sites import Site
from gpvae.streaming import Frame, StreamingPosterior
from gpvae.utils.distributed import gather_rows, num_processes, own_items, own_positions, rank, sum_over_processes
from gpvae.utils.resizable import assign
from gpvae.utils.row_store import Files, Memory, RowStore, compute_rows, select_rows
from gpvae.vae.shared_precision import common_shape, observed_alike
from gpvae.vae.site_files import check_run, fingerprint_of, open_rows

SiteOf = Callable[[Tensor], Site]
SomeSite = TypeVar("SomeSite", bound=Site)
#: Maximum number of elements of precisions in a chunk of series: 8 MB, which fit into caches.
MAX_ELEMENTS = 2**20


class SeriesPosterior(StreamingPosterior):
    """One site for each series and latent dimension, `[S, L]`; a process keeps those of its own series.

    Args:
        inducing: A family of inducing variables, common to all series.
        latent_dim: Number of latent dimensions L.
        power: α of power expectation propagation; 0 is the variational bound.
        shared_precision: Keep one precision G for all series, the mean of theirs, and h for each. When a task ends,
            posterior means stay as they are and covariances become equal. If None, do so as long as all series are
            observed about as often as each other; latents with the same kernel then share the shape of G.
        folder: Keep sites in files of this folder instead of memory; files of the last two tasks are kept.
    """

    num_series: Tensor
    num_ended: Tensor
    num_files: Tensor
    fingerprint: Tensor
    sharing: Tensor
    scale: Tensor

    def __init__(
        self,
        inducing: InducingVariables,
        latent_dim: int,
        *,
        power: float = 0.0,
        shared_precision: bool | None = False,
        folder: str | Path | None = None,
    ) -> None:
        super().__init__(inducing, power)
        self.latent_dim, self.shared_precision = latent_dim, shared_precision
        self.folder = None if folder is None else Path(folder)
        if shared_precision is None:
            self.register_buffer("sharing", torch.ones((), dtype=torch.bool))
            self.register_buffer("scale", torch.ones((), dtype=torch.float64))
        for name in ("num_series", "num_ended", "num_files"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))
        self._opened = True
        if self.folder is not None:
            self.register_buffer("fingerprint", torch.zeros((), dtype=torch.int64))
            self._keep_out_of_state(self.rows)

    @property
    def configuration(self) -> str:
        """What the sites depend on; its checksum is in saved states, so the wording stays."""
        if self.shared_precision is None:
            return super().configuration + " and one precision while all series are observed alike"
        return super().configuration + (" and one precision for all series" if self.shared_precision else "")

    @property
    def shares(self) -> bool:
        """Whether all series have one precision."""
        return bool(self.sharing) if self.shared_precision is None else self.shared_precision

    @property
    def rows(self) -> tuple[str, ...]:
        """The parts of the site that have a row for each series of this process."""
        return _rows(self.shares)

    @property
    def site(self) -> Site:
        """The past site of all series of this process."""
        if not self.started:
            return Site.zero(self.L)
        if not self._opened:
            self._open()
        site = super().site
        return site if self.shared_precision is not None else replace(site, G=self.scale * site.G)

    def site_of(self, series: Tensor | None = None) -> Site:
        """The past site of some series of this process; of all of them if not given."""
        return self.site if series is None else self.select_series(self.site, series)

    def select_series(self, site: SomeSite, series: Tensor) -> SomeSite:
        """Select series from a site of all series of this process; before the first task, return the site itself."""
        if not self.started:
            return site
        positions = own_positions(series)
        return type(site)(*(select_rows(part, positions) for part in site.parts()))

    def check_site(self) -> None:
        """Raise ValueError unless the sites are valid, one for each series of this process."""
        super().check_site()
        if self.started and "h" in self._buffers and len(self.h) != len(self.own_series(int(self.num_series))):
            raise ValueError(f"the state has {len(self.h)} sites for {int(self.num_series)} series")

    def row_store(self, name: str) -> RowStore:
        """The store for rows of this process: memory, or files in a folder of that name."""
        if self.folder is None:
            return Memory()
        return Files(self.folder / name, rank(), num_processes())

    @property
    def chunk_size(self) -> int:
        """Number of series to process at a time."""
        return max(2, MAX_ELEMENTS // (self.latent_dim * self.inducing.num_inducing**2))

    def own_series(self, num_series: int) -> Tensor:
        """The series of this process."""
        return own_items(num_series).to(self.L.device)

    def begin(self, kernel: Kernel, x: Tensor) -> None:
        """Advance the inducing variables to the inputs of a new task; raise if the folder cannot be created."""
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OSError(
                    f"cannot keep sites in {self.folder} ({error.strerror}): choose a folder that can be written to"
                ) from error
        super().begin(kernel, x)

    def compute_site(
        self, name: str, series: Tensor, compute: Callable[[Tensor], SomeSite], kind: type[SomeSite]
    ) -> SomeSite:
        """Compute a site with a row for each series of this process, for some series at a time.

        Args:
            name: Name of the site.
            series: The series of this process.
            compute: Computes the site of some series.
            kind: The class of the site.
        """
        names, store = [field.name for field in fields(kind)], self.row_store(name)
        return kind(*compute_rows(store, names, series, self.chunk_size, lambda chunk: compute(chunk).parts()))

    def end_series(
        self,
        frame: Frame,
        num_series: int,
        compute: SiteOf,
        *,
        mask: Tensor | None = None,
        keep: Callable[[Tensor], Tensor] | None = None,
        matrix: Callable[[Tensor], Tensor] = lambda kept: kept,
    ) -> None:
        """Consolidate a task.

        Args:
            frame: The frame of the task.
            num_series: Number of series on all processes.
            compute: Computes the sites of some series, including past and task.
            mask: Which values of all series are observed, `[S, T, V]`; all if not given.
            keep: Computes what is kept of the precisions of some series, if not the matrices.
            matrix: Computes G, given what is kept of it.
        """
        series, name = self.own_series(num_series), _task_name(int(self.num_ended) + 1)
        if self.shared_precision is None and mask is not None and not observed_alike(mask, series):
            self._stop_sharing()

        def own(chunk: Tensor) -> Site:
            if keep is None:
                return compute(chunk)
            kept = keep(chunk)
            return replace(compute(chunk).with_precision(matrix(kept)), G=kept)

        if self.shares:
            precision = keep or (lambda chunk: compute(chunk).G)
            sums = [precision(chunk).sum(0, keepdim=True) for chunk in series.split(self.chunk_size)]
            shape, scale = self._common(self.total(torch.stack(sums).sum(0)) / num_series, frame)
            G = matrix(scale * shape)
            site = self.compute_site(name, series, lambda chunk: compute(chunk).with_precision(G), Site)
            site = replace(site, G=shape)
        else:
            site, scale = self.compute_site(name, series, own, Site), torch.ones_like(frame.L[:1, :1, :1])
        self.end(frame, site)
        if self.shared_precision is None:
            assign(self.scale, scale)
        self.num_ended += 1
        self.num_series.fill_(num_series)
        self.num_files.fill_(num_processes())
        if self.folder is None:
            return
        self.row_store(name).flush()
        self.fingerprint.copy_(sum_over_processes(fingerprint_of(self.h).to(self.L.device)))
        if rank() == 0:
            shutil.rmtree(self.folder / _task_name(int(self.num_ended) - 2), ignore_errors=True)

    def _common(self, kept: Tensor, frame: Frame) -> tuple[Tensor, Tensor]:
        """What is kept of a precision that all series share, for all latents together if they allow it, and factors."""
        return (kept, torch.ones_like(kept[..., :1, :1])) if self.shared_precision else common_shape(kept, frame.L)

    def total(self, value: Tensor) -> Tensor:
        """The sum over processes of a value of their series."""
        return sum_over_processes(value)

    def gather_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Gather the sites of all processes into the state on rank 0; sites in files are left there.

        Args:
            state: The state of a module that contains this one.
            prefix: Prefix of this module in the state.
        """
        if self.started and self.folder is None:
            state.update({prefix + name: gather_rows(state[prefix + name]) for name in self.rows})

    def select_own_sites(self, state: dict[str, Tensor], prefix: str) -> None:
        """Reduce a state that is to be loaded to the series of this process.

        Args:
            state: The state of a module that contains this one.
            prefix: Prefix of this module in the state.
        """
        if num_processes() > 1 and self.folder is None and state[prefix + "num_ended"] > 0:
            own = slice(rank(), None, num_processes())
            rows = self.rows if self.shared_precision is not None else _rows(bool(state[prefix + "sharing"]))
            state.update({prefix + name: state[prefix + name][own] for name in rows})

    def _keep_out_of_state(self, names: tuple[str, ...]) -> None:
        """Make buffers plain attributes, which are neither moved to a device nor saved: their rows are in files."""
        for name in names:
            rows = getattr(self, name)
            delattr(self, name)
            setattr(self, name, rows)

    def _stop_sharing(self) -> None:
        """Keep a precision for each series from now on."""
        self.sharing.fill_(False)
        if self.folder is not None and "G" in self._buffers:
            self._keep_out_of_state(("G",))

    def _set_site(self, site: Site) -> None:
        """Set the site without copying it, contiguous like a loaded one."""
        self.c, self.h, self.G = (part.contiguous() for part in (site.c, site.h, site.G))
        self._opened = True

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any) -> None:
        if self.shared_precision is None and not bool(state_dict.get(prefix + "sharing", True)):
            self._stop_sharing()
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        if self.folder is not None and self.started:
            check_run(self.folder, self._files_of_all(), self.fingerprint)
            self._opened = False  # opened on first use, when the number of processes is known

    def _open(self) -> None:
        """Open the files of this process; if the number of processes has changed, collect its rows from all files."""
        files = self._files_of_all()
        store = self.row_store(_task_name(int(self.num_ended)))
        series = own_items(int(self.num_series))
        for name, parts in files.items():
            if len(parts) == num_processes():
                rows = parts[rank()]
            else:
                rows = store.empty(name, len(series), parts[0])
                for row, number in enumerate(series.tolist()):
                    rows[row] = parts[number % len(parts)][number // len(parts)]
            setattr(self, name, rows)
        self._opened = True

    def _files_of_all(self) -> dict[str, list[Tensor]]:
        """The rows that each process wrote when the last task ended."""
        assert self.folder is not None
        *latent, size, _ = self.L.shape
        shapes = {"c": latent, "h": [*latent, size], "G": [*latent, *self._precision_shape(size)]}
        folder, counts = self.folder / _task_name(int(self.num_ended)), (int(self.num_series), int(self.num_files))
        return open_rows(folder, {name: shapes[name] for name in self.rows}, self.L.dtype, *counts)


def _rows(shares: bool) -> tuple[str, ...]:
    return ("c", "h") if shares else ("c", "h", "G")


def _task_name(number: int) -> str:
    return f"task_{number:02d}"
