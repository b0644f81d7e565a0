"""The table of this folder, and that no section of RULES.md is left out."""

import ast
import re
from pathlib import Path

from tests import rules

FOLDER = Path(__file__).parent

DOCSTRINGS = {
    node.name: ast.get_docstring(node) or ""
    for file in FOLDER.glob("test_*.py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
}
"""Of every test of this folder, by its name."""


def table() -> dict[int, set[str]]:
    """Give the tests of this folder that the table names, by the number of the bug."""
    assert rules.__doc__ is not None
    rows = re.findall(r"^([\d ]{2}) .{47}(\S.*)$", rules.__doc__, re.MULTILINE)
    tests: dict[int, set[str]] = {}
    for number, text in rows:
        if number.strip():
            tests[int(number)] = set()
        tests[max(tests)] |= {text} if text.startswith("test_") else set()
    return tests


def bugs_of(docstring: str) -> list[int]:
    """Read the numbers of "(bug 3)" or "(bugs 3 and 20)"."""
    return [
        int(number) for mention in re.findall(r"\(bugs? ([^)]*)\)", docstring) for number in re.findall(r"\d+", mention)
    ]


def test_every_section_has_tests() -> None:
    assert {name[6:8] for name in DOCSTRINGS if name.startswith("test_r")} >= {
        f"{number:02}" for number in range(1, 19)
    }


def test_a_test_stands_in_the_file_of_its_section() -> None:
    for file in FOLDER.glob("test_r[01]*.py"):
        sections = re.findall(r"r(\d\d)", file.name)
        for section in re.findall(r"^def test_r(\d\d)_", file.read_text(encoding="utf-8"), re.MULTILINE):
            assert sections[0] <= section <= sections[-1], file.name


def test_the_table_and_the_tests_name_the_same_bugs() -> None:
    assert list(table()) == list(range(1, 33))
    named = {(number, name) for number, names in table().items() for name in names}
    assert named == {(number, name) for name, docstring in DOCSTRINGS.items() for number in bugs_of(docstring)}
