"""The examples in docstrings run and print what they show."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["target", "pointwise", "calibration", "forgetting", "mixtures", "task_scores"])
def test_examples(name: str) -> None:
    results = doctest.testmod(import_module(f"gpvae.metrics.{name}"))
    assert results.attempted
    assert not results.failed
