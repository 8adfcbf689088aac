"""The posterior of a stream: a family of inducing variables, and the site that holds all past data."""

import copy
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from torch import Tensor
from torch.nn.utils import vector_to_parameters

from gpvae.inducing import Functionals, InducingVariables
from gpvae.kernels import flat_parameters
from gpvae.posteriors import Posterior
from gpvae.sites import Site, Transport, precision
from gpvae.utils.linalg import cholesky, identity_like, solve_lower
from gpvae.utils.resizable import Resizable, assign
from gpvae.utils.transactional import LARGEST

#: Number of precisions that are factorised at a time.
CHUNK_SIZE = 256


@dataclass(frozen=True)
class Frame:
    """A family under a kernel, whitened: v = L⁻¹ u.

    Attributes:
        inducing: The family.
        kernel: The kernel.
        L: Cholesky factor of kuu, `[*L, M, M]`.
    """

    inducing: InducingVariables
    kernel: Kernel
    L: Tensor

    @classmethod
    def of(cls, inducing: InducingVariables, kernel: Kernel) -> "Frame":
        """Whiten a family."""
        return cls(inducing, kernel, cholesky(inducing.kuu(kernel)))

    @classmethod
    def of_past(cls, past: InducingVariables, kernel: Kernel) -> "Frame":
        """Whiten variables adapted to an earlier kernel; `kuv` raises if they depend on it."""
        return cls(past, kernel, cholesky(past.kuv(kernel, past)))

    def features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """a = L⁻¹ kuf `[*L, M, N]` and the prior variance kff `[*L, N]`."""
        return self.inducing.features(self.kernel, self.L, x)


class StreamingPosterior(Resizable):
    """q(u) over a stream of tasks (paper, section 2.3 and algorithm 2, in sites).

    Between tasks `past` equals `inducing`. During a task `inducing` has advanced to the new inputs; `past` and the site
    are those of the previous task.

    Args:
        inducing: A family of inducing variables.
        power: α of power expectation propagation; 0 is the variational bound.
    """

    c: Tensor
    h: Tensor
    G: Tensor
    L: Tensor
    kernel_parameters: Tensor
    lost: Tensor

    def __init__(self, inducing: InducingVariables, power: float = 0.0) -> None:
        super().__init__()
        if not 0 <= power <= 1:
            raise ValueError(f"power must be between 0 (variational) and 1 (expectation propagation), got {power}")
        self.inducing = inducing
        self.past = copy.deepcopy(inducing).requires_grad_(False)
        self.power = power
        for name, shape in (("c", ()), ("h", (0,)), ("G", (0, 0)), ("L", (0, 0)), ("kernel_parameters", (0,))):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("lost", torch.zeros((), dtype=torch.float64), persistent=False)
        self._task_lost = 0.0

    @property
    def configuration(self) -> str:
        """The power, which the site depends on; its checksum is in saved states, so the wording stays."""
        return f"a stream with power={self.power}"

    @property
    def started(self) -> bool:
        """Whether any task has been consolidated."""
        return self.L.shape[-1] > 0

    @property
    def site(self) -> Site:
        """The site of all past data on L⁻¹ u of `past`, with L of the time of its consolidation."""
        return Site(self.c, self.h, self.G)

    @torch.no_grad()
    def check_site(self) -> None:
        """Raise ValueError unless the site has the shapes of its variables, and is that of a Gaussian."""
        M = self.past.num_inducing if self.started else 0
        endings = {"c": (), "h": (M,), "G": self._precision_shape(M) if M else (0, 0), "L": (M, M)}
        own = {name: value for name in endings if (value := self._buffers.get(name)) is not None}  # others are in files
        found = {name: tuple(value.shape) for name, value in own.items()}
        ends = all(found[name][len(found[name]) - len(endings[name]) :] == endings[name] for name in own)
        if not ends or ("h" in own and found["h"][:-1] != found["c"]):
            raise ValueError(f"the state has a site of shapes {found} for {M} variables")
        if not self.started:
            return
        if not all(bool((value.abs() < LARGEST).all()) for value in self.buffers() if value.is_floating_point()):
            raise ValueError("the state has NaN or infinite values in the site of the past or its inducing variables")
        for G in own["G"].reshape(-1, M, M).split(CHUNK_SIZE) if "G" in own and endings["G"] == (M, M) else ():
            if float((G - G.mT).abs().max()) > 1e-3 * float(G.abs().max().clamp_min(1.0)):
                raise ValueError("the state has a site whose precision G is not symmetric")
            if bool((torch.linalg.cholesky_ex(precision(G))[1] > 0).any()):
                raise ValueError("the state has a site whose precision I + G is not positive definite")

    def _precision_shape(self, size: int) -> tuple[int, ...]:
        """The shape of what is kept of a G of some size."""
        return size, size

    @torch.no_grad()
    def check_state(self, kernel: Kernel, outputs: torch.Size) -> None:
        """Raise ValueError unless the site is valid, and factor and variables suit each other and the kernel.

        Args:
            kernel: The kernel.
            outputs: The shape of the outputs: the batch shape of the kernel, unless several outputs share it.
        """
        self.check_site()
        if not self.started:
            return
        if self.h.shape[:-1] != outputs:
            raise ValueError(f"the state has a site of {tuple(self.h.shape)} for outputs of shape {list(outputs)}")
        if bool((self.L.triu(1) != 0).any()) or bool((self.L.diagonal(dim1=-2, dim2=-1) <= 0).any()):
            raise ValueError("the state has a factor L that is not the Cholesky factor of a covariance")
        if self._unchanged(kernel):
            kuu = self.past.kuu(kernel)
            self.task_frame(kernel)  # raises if the present variables do not suit those of the past
            if not float((self.L @ self.L.mT - kuu).abs().max()) <= 1e-2 * float(kuu.abs().max()):
                raise ValueError("the state has a factor L that is not that of its inducing variables under its kernel")

    def begin(self, kernel: Kernel, x: Tensor) -> None:
        """Advance the inducing variables to the inputs of a new task, `[N, D]`."""
        self.inducing.advance(kernel, x)

    def adapt_to_kernel(self, kernel: Kernel) -> None:
        """Adapt the inducing variables to the kernel of the task, once its training is done."""
        self.inducing.adapt_to_kernel(kernel)

    def task_frame(self, kernel: Kernel, inducing: InducingVariables | None = None) -> tuple[Frame, Transport]:
        """The frame of the present task, and the transport of past sites to it.

        C = L⁻¹ kuv L_old⁻ᵀ. If the hyperparameters have changed, the old site, a function of u_old, is kept, and the
        prior of u_old is that of the present kernel: R = L_old⁻¹ kvv L_old⁻ᵀ - CᵀC.

        Args:
            kernel: The kernel.
            inducing: The inducing variables of the task, if not the present ones.
        """
        inducing = self.inducing if inducing is None else inducing
        if self.started and inducing.is_same_as(self.past) and self._unchanged(kernel):
            return Frame(inducing, kernel, self.L), Transport()
        frame = Frame.of(inducing, kernel)
        if not self.started:
            return frame, Transport.from_nothing(frame.L)
        kuv = inducing.kuv(kernel, self.past)
        C = solve_lower(frame.L, solve_lower(self.L, kuv.mT).mT)
        if self._unchanged(kernel):
            prior = identity_like(C)
        else:
            T = solve_lower(self.L, Frame.of_past(self.past, kernel).L)
            prior = T @ T.mT
        R = prior - C.mT @ C
        return frame, Transport(C, R, self.power)

    @torch.no_grad()
    def at_begin(self, kernel: Kernel, x: Tensor) -> tuple[Kernel, InducingVariables]:
        """Kernel and inducing variables as they were when the present task began, before it trained them.

        They follow from the past, so a run that is resumed within a task has the same.

        Args:
            kernel: The kernel.
            x: Inputs of the task, `[N, D]`.
        """
        kernel = copy.deepcopy(kernel)
        vector_to_parameters(self.kernel_parameters, kernel.parameters())
        return kernel, copy.deepcopy(self.past).advance(kernel, x)

    def task(self, kernel: Kernel) -> tuple[Frame, Site]:
        """The frame of the present task, and the past site transported to it."""
        frame, transport = self.task_frame(kernel)
        remembers = self._unchanged(kernel) and not self.inducing.forgets
        self._task_lost = float(transport.loss(self.site).mean()) if remembers else 0.0
        return frame, transport(self.site)

    def end(self, frame: Frame, site: Site) -> None:
        """Consolidate a task: its frame and site become the past, and what its transport has lost is added to `lost`.

        `lost`, in nats, averaged over latent dimensions, serves warnings; it is not part of the state.
        """
        self.lost += self._task_lost
        self._task_lost = 0.0
        self._set_site(site)
        assign(self.L, frame.L)
        assign(self.kernel_parameters, flat_parameters(frame.kernel))
        self.past.load_state_dict(self.inducing.state_dict())

    def _set_site(self, site: Site) -> None:
        for buffer, value in ((self.c, site.c), (self.h, site.h), (self.G, site.G)):
            assign(buffer, value)

    @torch.no_grad()
    def replace(self, kernel: Kernel, inducing: InducingVariables) -> None:
        """Continue with another family, or another number of variables; the past is transported to it.

        Args:
            kernel: The kernel.
            inducing: The new family; unless it has seen inputs, it starts from the landmarks of the present one.
        """
        inducing = inducing.to(self.h)
        if self.started and not inducing.started:
            if not isinstance(self.inducing, Functionals):
                raise TypeError(
                    f"{type(self.inducing).__name__} keeps no inputs to start {type(inducing).__name__} from; "
                    "only families of function values (points, HiPPO over time) can be replaced"
                )
            inducing.advance(kernel, self.inducing.landmarks.flatten(0, -2))
            inducing.adapt_to_kernel(kernel)
        self.inducing = inducing
        carried = self.task(kernel) if self.started else None
        self.past = copy.deepcopy(inducing).requires_grad_(False)
        if carried is not None:
            self.end(*carried)

    def present(self, kernel: Kernel) -> tuple[Frame, Site]:
        """The consolidated past in its own frame, under the present kernel."""
        frame, transport = self.present_frame(kernel)
        return frame, transport(self.site)

    def present_frame(self, kernel: Kernel) -> tuple[Frame, Transport]:
        """The frame of the consolidated past under the present kernel, and the transport of past sites to it."""
        if self._unchanged(kernel):
            return Frame(self.past, kernel, self.L), Transport()
        frame = Frame.of_past(self.past, kernel)
        C = solve_lower(self.L, frame.L).mT  # the same u, whitened by another factor
        return frame, Transport(C)

    def q(self, kernel: Kernel) -> tuple[Frame, Posterior]:
        """The consolidated past in its own frame, as a posterior over v."""
        frame, site = self.present(kernel)
        return frame, Posterior.from_site(site)

    def _unchanged(self, kernel: Kernel) -> bool:
        """Whether the kernel is the one that the past was consolidated with, and is not being trained."""
        now = flat_parameters(kernel)
        return not (now.requires_grad and torch.is_grad_enabled()) and torch.equal(now, self.kernel_parameters)
