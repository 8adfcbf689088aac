"""Suggestions for misspelt words."""

import difflib
from collections.abc import Iterable


def nearest(word: str, words: Iterable[str]) -> str:
    """` (did you mean 'x'?)` if a word is close to one of the given words, else an empty string."""
    by_lower = {w.lower(): w for w in words}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.5)
    return f" (did you mean {by_lower[found[0]]!r}?)" if found else ""
