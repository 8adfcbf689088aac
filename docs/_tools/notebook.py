"""Turns the page of an example into a Jupyter notebook with the same outputs."""

import base64
import json
import re
from typing import Any

from cells import PAGES, cells, outputs_on_page

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?!https?:)[^)]*\)")
OUTPUT = re.compile(r"```text\n(?P<printed>.*?)\n```|!\[[^\]]*\]\((?P<picture>[^)]+)\)", flags=re.DOTALL)


def notebook(name: str) -> str:
    """The notebook of an example, as JSON in format 4.5.

    Args:
        name: The name of the example.
    """
    made: list[dict[str, Any]] = []
    for number, (cell, output) in enumerate(zip(cells(name), outputs_on_page(name), strict=True)):
        entry: dict[str, Any] = {"id": f"{name}-{number}".replace("_", "-"), "metadata": {}}
        if cell.is_text:  # links lead to other pages, which are not where the notebook is
            entry |= {"cell_type": "markdown", "source": LINK.sub(r"\g<text>", cell.source)}
        else:
            count = 1 + sum(other["cell_type"] == "code" for other in made)
            outputs = [_output(found) for found in OUTPUT.finditer(output)]
            entry |= {"cell_type": "code", "source": cell.source, "execution_count": count, "outputs": outputs}
        made.append(entry)
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}, indent=1)


def _output(found: re.Match[str]) -> dict[str, Any]:
    if found["printed"] is not None:
        return {"output_type": "stream", "name": "stdout", "text": f"{found['printed']}\n"}
    picture = base64.b64encode((PAGES / found["picture"]).read_bytes()).decode()
    return {"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}
