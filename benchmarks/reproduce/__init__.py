"""All experiments of the paper, on its data: `make reproduce`, or `python -m benchmarks.reproduce`."""
