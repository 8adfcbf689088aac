"""Data: public files, how they become tensors, and how tensors become a stream of tasks."""
