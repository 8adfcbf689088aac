"""Benchmarks: run each as `python -m benchmarks.NAME`; `benchmarks/README.md` reports results."""
