"""Points given one by one: what an update costs and what is lost, with a buffer and without.

Without a buffer (`buffer_size=1`) every point is consolidated at once, as a batch of one: the inducing variables
advance, and the past is transported. The timing stream is a noisy wave; its cost does not depend on the values. The
loss is that of the predictions of held-out points, against one batch of all points, on Audio with a kernel fitted to
its first task.
"""

from collections.abc import Callable

import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from torch import Tensor

from benchmarks.report import console, parser, save, table
from benchmarks.streams import Fitted, expected_warnings, fit
from benchmarks.timing import Timing, ratio
from datamodules.solar_audio import audio
from datamodules.splits import split_tasks
from gpvae.inducing import CosS, InducingVariables, LegS, PivotedPoints
from gpvae.online_gp import OnlineGP

SIZES = {"single": 1, "buffered": 64}
FAMILIES: dict[str, Callable[[int], InducingVariables]] = {"CosS": CosS, "LegS": LegS, "PivotedPoints": PivotedPoints}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--num-inducing", type=int, default=100)
    options.add_argument("--points", type=int, default=1000, help="points of the timing stream")
    options.add_argument("--loss-inducing", type=int, default=30, help="variables for Audio: few, to see a loss")
    options.add_argument("--learnt", type=int, default=2000, help="points of Audio to learn")
    args = options.parse_args()
    if args.quick:
        args.num_inducing, args.points, args.learnt = 30, 192, 100
    torch.set_num_threads(1)
    costs = [cost(name, args.num_inducing, args.points) for name in FAMILIES]
    table(
        f"Updates with single points, {args.points} of them, M = {args.num_inducing}",
        ["", "ms without a buffer", "ms with one", "ratio", "second half / first half"],
        [[r["name"], 1e3 * r["single"], 1e3 * r["buffered"], r["ratio"], r["growth"]] for r in costs],
    )
    losses = loss(args.loss_inducing, args.learnt)
    table(
        f"NLPD of Audio's points in between, after {args.learnt} points, M = {args.loss_inducing}",
        ["", "one batch", *SIZES],
        [[r["name"], r["batch"], *(r[name] for name in SIZES)] for r in losses],
    )
    console.print("seconds: mean CPU time of an update over the stream, from the second buffer on, by turns")
    headline = {f"{r['name']}: single / buffered": r["ratio"] for r in costs}
    headline |= {f"{r['name']}: second half / first half": r["growth"] for r in costs}
    headline |= {f"{r['name']}: nats lost, {name}": r[name] - r["batch"] for r in losses for name in SIZES}
    save("single_points", {"costs": costs, "losses": losses}, args.output, headline)


def cost(family: str, num_inducing: int, num_points: int) -> dict[str, object]:
    """CPU seconds of an update, in blocks of one buffer, by turns with and without it."""
    x = torch.linspace(0, 20, num_points, dtype=torch.float64)
    y = torch.sin(3 * x) + 0.2 * torch.randn(num_points, generator=torch.Generator().manual_seed(0))
    kernel, likelihood = ScaleKernel(RBFKernel()), GaussianLikelihood()
    kernel.base_kernel.lengthscale, likelihood.noise = 0.3, 0.04
    models = {
        name: OnlineGP(FAMILIES[family](num_inducing), kernel, likelihood, mean=ZeroMean(), buffer_size=size)
        for name, size in SIZES.items()
    }
    timings = {name: Timing() for name in models}
    blocks = list(zip(x.split(SIZES["buffered"]), y.split(SIZES["buffered"]), strict=True))
    with expected_warnings():
        for i, block in enumerate(blocks):
            for name, model in models.items():
                timer = timings[name] if i > 0 and len(block[0]) == SIZES["buffered"] else Timing()
                timer.time(lambda: one_by_one(model, *block))  # noqa: B023
    per_update = {name: sum(t.seconds) / len(t.seconds) / SIZES["buffered"] for name, t in timings.items()}
    half = len(timings["buffered"].seconds) // 2
    growth = sum(timings["buffered"].seconds[-half:]) / sum(timings["buffered"].seconds[:half])
    times = ratio(timings["single"], timings["buffered"])
    return {"name": family, **per_update, "ratio": times, "growth": growth}


def loss(num_inducing: int, num_points: int) -> list[dict[str, object]]:
    """NLPD of held-out points after one batch and after single points."""
    tasks = split_tasks(*audio(), 10, 9000, seed=0)
    fitted = fit(tasks, LegS(num_inducing))
    train, test = (
        (torch.cat([getattr(t, f"x_{kind}") for t in tasks]), torch.cat([getattr(t, f"y_{kind}") for t in tasks]))
        for kind in ("train", "test")
    )
    order = train[0][:, 0].argsort()
    x, y = (part[order][:num_points] for part in train)
    inside = test[0][:, 0] <= x.max()
    held_out = tuple(part[inside] for part in test)
    return [
        {"name": family}
        | {
            name: score(FAMILIES[family](num_inducing), fitted, size, (x, y), held_out)
            for name, size in {"batch": 0, **SIZES}.items()
        }
        for family in FAMILIES
    ]


def score(
    inducing: InducingVariables, fitted: Fitted, size: int, learnt: tuple[Tensor, Tensor], test: tuple[Tensor, ...]
) -> float:
    """NLPD after points given one by one, or all at once if the size of the buffer is zero."""
    gp = OnlineGP(inducing, *fitted, mean=ZeroMean(), buffer_size=max(size, 1))
    with expected_warnings():
        if size:
            one_by_one(gp, *learnt)
        else:
            gp.update(*learnt)
        return -float(gp.predict(test[0]).log_prob(test[1]).mean())


def one_by_one(gp: OnlineGP, x: Tensor, y: Tensor) -> None:
    for i in range(len(x)):
        gp.update(x[i : i + 1], y[i : i + 1])


if __name__ == "__main__":
    main()
