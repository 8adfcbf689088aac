"""Blocks and commands are found on pages, and commands that would fail are detected."""

from pathlib import Path

import pytest

from tests.docs import shell
from tests.docs.pages import Block, blocks

PAGE = """Text.

<!-- not run: needs two machines -->
```sh
torchrun it
```

1. In a list:

    <!-- run -->
    ```sh
    A=1 gpvae fit -c 'a b.yaml' \\
        --x 2  # a comment; with a semicolon
    for s in 1 2; do gpvae fit --seed $s; done; gpvae summary runs && make check
    ```

```python
# tides.py
x = 1
```
"""


@pytest.fixture
def found(tmp_path: Path) -> list[Block]:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return list(blocks(page))


def test_blocks_are_found_with_their_notes(found: list[Block]) -> None:
    assert [block.language for block in found] == ["sh", "sh", "python"]
    assert [block.reason_not_to_run for block in found] == ["needs two machines", "", ""]
    assert [block.is_run for block in found] == [False, True, False]
    assert [block.file_name for block in found] == ["", "", "tides.py"]
    assert PAGE.splitlines()[found[2].line - 1] == "# tides.py"


def test_commands_are_split_into_words(found: list[Block]) -> None:
    assert list(shell.commands(found[1])) == [
        ["gpvae", "fit", "-c", "a b.yaml", "--x", "2"],
        ["gpvae", "fit", "--seed", "1"],
        ["gpvae", "summary", "runs"],
        ["make", "check"],
    ]


@pytest.mark.parametrize(
    "command",
    [
        "gpvae fit -c toy_legs --model.num_inducingg 3",
        "gpvae fit -c there_is_no_such_config",
        "gpvae summary runs --no-such-option",
        "make no-such-target",
        "pytest tests/no_such_folder",
        "python -m benchmarks.no_such_benchmark",
        "python -m benchmarks no_such_benchmark",
        "python -m benchmarks --no-such-option",
        "python -m benchmarks.nlpd --data no_such_data",
        "python -m benchmarks.reproduce --no-such-option",
    ],
)
def test_commands_that_would_fail_are_detected(command: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, SystemExit, ValueError)):
        shell.check(command.split(), tmp_path)


def test_commands_without_a_parser_have_to_be_marked(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="not run: why"):
        shell.check(["torchrun", "it"], tmp_path)
