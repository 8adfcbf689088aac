"""Models as plain data: names of known classes and their arguments. Nothing else can be built from a file."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from gpytorch import constraints, kernels, likelihoods, means
from gpytorch.module import Module
from torch import Tensor, nn

from gpvae import inducing
from gpvae.utils.atomic import replacing
from gpvae.utils.torch_files import read_torch_file

#: The classes that a file may name.
KERNELS = (
    "RBF",
    "Matern",
    "RQ",
    "Periodic",
    "Cosine",
    "Linear",
    "Constant",
    "SpectralMixture",
    "Scale",
    "Additive",
    "Product",
)
LIKELIHOODS = ("Gaussian", "Bernoulli", "Poisson", "NegativeBinomial", "StudentT", "Laplace", "Beta")
CLASSES: dict[str, Callable[..., nn.Module]] = {
    **{f"{name}Kernel": getattr(kernels, f"{name}Kernel") for name in KERNELS},
    **{f"{name}Likelihood": getattr(likelihoods, f"{name}Likelihood") for name in LIKELIHOODS},
    **{f"{name}Mean": getattr(means, f"{name}Mean") for name in ("Zero", "Constant", "Linear")},
    **{name: getattr(constraints, name) for name in ("Interval", "GreaterThan", "LessThan", "Positive")},
    **{name: getattr(inducing, name) for name in inducing.__all__ if name not in ("Functionals", "InducingVariables")},
}
#: How to read arguments that are not attributes of the same name.
READ: dict[str, Callable[[Any], Any]] = {
    "batch_shape": lambda module: list(_batch_shape(module)),
    "active_dims": lambda module: None if module.active_dims is None else module.active_dims.tolist(),
    "input_size": lambda module: module.weights.shape[-2],
    "bias": lambda module: module.bias is not None,
    "num_failures_param": lambda module: bool(module.num_failures_param),
}


def to_plain(module: nn.Module) -> dict[str, Any]:
    """The class of a module, its arguments, its constraints and which of its parameters are frozen, as plain data.

    Raises:
        TypeError: The module, or a part of it, is none of the known classes, or has a prior.
    """
    name = type(module).__name__
    if CLASSES.get(name) is not type(module):
        raise TypeError(
            f"{name} cannot be saved by name; save state_dict() instead, and load it into a model that you build"
        )
    plain: dict[str, Any] = {"class": name, "arguments": _arguments(module)}
    if isinstance(module, kernels.AdditiveKernel | kernels.ProductKernel):
        plain["parts"] = [to_plain(kernel) for kernel in module.kernels]
    if isinstance(module, inducing.Composed):
        plain["parts"] = [to_plain(part) for part in module.parts]
    if isinstance(module, Module):
        if any(True for _ in module.named_priors()):
            raise TypeError(f"{name} has a prior, which cannot be saved; save state_dict() instead")
        plain["constraints"] = {
            key: _constraint(value) for key, value in module.named_constraints() if "." not in key and value is not None
        }
        plain["frozen"] = [key for key, p in module.named_parameters() if not p.requires_grad]
    return plain


def from_plain(plain: dict[str, Any]) -> Any:  # noqa: ANN401
    """The module that plain data describe; only known classes are built."""
    name = plain.get("class")
    if name not in CLASSES:
        raise ValueError(f"the file names {name!r}, which is none of the classes that can be loaded")
    arguments = {key: from_plain(v) if isinstance(v, dict) else v for key, v in plain["arguments"].items()}
    if "batch_shape" in arguments:
        arguments["batch_shape"] = torch.Size(arguments["batch_shape"])
    module: Any = CLASSES[name](*map(from_plain, plain.get("parts", [])), **arguments)
    for key, value in plain.get("constraints", {}).items():
        module.register_constraint(key.removesuffix("_constraint"), from_plain(value))
    for key in plain.get("frozen", []):
        module.get_parameter(key).requires_grad_(False)
    return module


def save(model: dict[str, Any], state: dict[str, Tensor], path: str | Path) -> None:
    """Write the description and the state of a model to a file, as a whole or not at all."""
    with replacing(Path(path)) as file:
        file.touch()  # where this fails, the error names the path; that of torch does not
        torch.save({"model": model, "state": state}, file)


def load(path: str | Path, build: Callable[..., Any]) -> Any:  # noqa: ANN401
    """The model that `save` has written; no code in the file is run.

    Args:
        path: The file.
        build: Builds the model from its families, kernel, likelihood and options.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged or unrelated, names other classes, or its state contradicts itself.
    """
    content = read_torch_file(Path(path), "a model")
    if not (isinstance(content, dict) and {"model", "state"} <= content.keys()):
        raise ValueError(f"{path} was not written by OnlineGP.save")
    try:
        model: dict[str, Any] = content["model"]
        kernel, likelihood, mean = (from_plain(model[name]) for name in ("kernel", "likelihood", "mean"))
        families = [from_plain(plain) for plain in model["inducing"]]
        gp = build(families, kernel, likelihood, mean=mean, **model["options"])
        gp.load_state_dict(content["state"])
    except Exception as error:  # a description made by hand can raise anything
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is not a model that can be loaded: {reason} ({type(error).__name__})") from error
    return gp


def _arguments(module: nn.Module) -> dict[str, Any]:
    """The arguments of the constructor that are attributes of the module."""
    names = {"ard_num_dims", "batch_shape", "active_dims"} if isinstance(module, kernels.Kernel) else set()
    if isinstance(module, kernels.ScaleKernel | kernels.AdditiveKernel | kernels.ProductKernel):
        names = {"batch_shape"} if isinstance(module, kernels.ScaleKernel) else set()
        names |= {"active_dims"} if module.active_dims is not None else set()
    names |= {name for name in signature(type(module).__init__).parameters if name in READ or hasattr(module, name)}
    names -= {"self", "eps", "kernels", "parts"}
    found = {name: READ[name](module) if name in READ else getattr(module, name) for name in names}
    plain = {name: _plain_value(value) for name, value in found.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, nn.Module):
        return to_plain(value)
    if isinstance(value, Tensor):
        return None if bool(value.isnan()) else value.item()
    return list(value) if isinstance(value, tuple) else value


def _constraint(constraint: constraints.Interval) -> dict[str, Any]:
    name = type(constraint).__name__
    bounds = {"lower_bound": float(constraint.lower_bound), "upper_bound": float(constraint.upper_bound)}
    wanted = {"Interval": bounds, "GreaterThan": {"lower_bound"}, "LessThan": {"upper_bound"}, "Positive": ()}.get(name)
    if wanted is None:
        raise TypeError(f"the constraint {name} cannot be saved; save state_dict() instead")
    return {"class": name, "arguments": {key: bounds[key] for key in wanted}}


def _batch_shape(module: Any) -> torch.Size:  # noqa: ANN401
    if isinstance(module, kernels.Kernel):
        return module._batch_shape
    if isinstance(module, likelihoods.GaussianLikelihood):
        return module.noise.shape[:-1]
    tensors = list(module.parameters())
    last = {"LinearMean": 2, "ConstantMean": 0}.get(type(module).__name__, 1)
    return tensors[0].shape[: tensors[0].ndim - last] if tensors else torch.Size()
