"""Synthetic weather over Britain: a sample of ERA5 that needs no download."""
