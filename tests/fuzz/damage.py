"""Damages files at random."""

from hypothesis import strategies as st

share = st.floats(0, 1, exclude_max=True)
start = st.one_of(share, st.floats(0, 0.05))  # headers are at the start, and matter most
noise = st.binary(min_size=1, max_size=64)
sizes = st.integers(1, 4096)


def _cut(content: bytes, where: float) -> bytes:
    return content[: int(where * len(content))]


def _flip(content: bytes, positions: list[tuple[float, int]]) -> bytes:
    changed = bytearray(content)
    for where, bit in positions:
        changed[int(where * len(content))] ^= 1 << bit
    return bytes(changed)


def _overwrite(content: bytes, where: float, new: bytes) -> bytes:
    position = int(where * len(content))
    return content[:position] + new + content[position + len(new) :]


def _insert(content: bytes, where: float, new: bytes) -> bytes:
    position = int(where * len(content))
    return content[:position] + new + content[position:]


def _remove(content: bytes, where: float, length: int) -> bytes:
    position = int(where * len(content))
    return content[:position] + content[position + length :]


def damaged(content: bytes) -> st.SearchStrategy[bytes]:
    """Draw a file that was cut short, had bits flipped, or bytes overwritten, inserted or removed; or random bytes.

    Args:
        content: The undamaged file.
    """
    flips = st.lists(st.tuples(start, st.integers(0, 7)), min_size=1, max_size=8)
    runs = st.one_of(noise, st.builds(lambda byte, length: bytes([byte]) * length, st.sampled_from([0, 255]), sizes))
    return st.one_of(
        st.builds(_cut, st.just(content), share),
        st.builds(_flip, st.just(content), flips),
        st.builds(_flip, st.just(content), flips),
        st.builds(_overwrite, st.just(content), start, runs),
        st.builds(_insert, st.just(content), start, runs),
        st.builds(_remove, st.just(content), start, sizes),
        st.builds(lambda length, rest: content[:length] + rest, st.sampled_from([0, 4, 8]), st.binary(max_size=512)),
    )
