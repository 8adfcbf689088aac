"""Scores on ERA5 against all numbers kept."""
