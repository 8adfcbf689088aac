"""The figures of the paper, each in a file of its own, from the runs there are."""
