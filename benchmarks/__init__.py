"""Measurements: run each as `python -m benchmarks.NAME`; `benchmarks/README.md` says what they show."""
