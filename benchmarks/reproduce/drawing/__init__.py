"""The figures of the paper, from finished runs."""
