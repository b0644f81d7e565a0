"""Imports point down the layers, and each third-party library has one home (README, "The layers")."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "craits_sim"

LAYERS = [
    {"text", "cards", "ranges", "files"},
    {"rules", "features", "view", "bots"},
    {"encode", "results"},
    {"kernel"},
    {"scenario", "trace"},
    {"design", "stats", "sequential", "plots"},
    {"studies", "aggregate", "records"},
    {"runner"},
    {"check", "checkpoint", "report", "gallery", "api", "selftest", "tune"},
    {"cli"},
]
"""The modules of the package, the lowest layer first; a package counts as one module."""

HOMES = {
    "numba": {"kernel"},
    "llvmlite": {"kernel"},
    "platformdirs": {"kernel"},
    "scipy": {"stats", "selftest"},
    "statsmodels": {"stats"},
    "matplotlib": {"plots", "studies", "report"},  # studies compose panels; the report saves the figure
    "pandas": {"plots", "studies", "report", "api"},
    "pydantic": {"rules", "scenario", "design"},
    "pyarrow": {"records"},
    "PIL": {"gallery"},
    "choix": {"stats"},
    "jinja2": {"report"},
    "click": {"cli"},
    "rich": {"cli"},
    "cma": {"tune"},
}
"""Where each library may be imported (numpy: everywhere)."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(module: str) -> int:
    """Give the number of the layer that a module of the package belongs to."""
    return next(number for number, layer in enumerate(LAYERS) if module in layer)


def module_of(path: Path) -> str:
    """Name the module that a file belongs to, a package being one."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """List what a file imports, also inside functions, but not for type checking alone."""
    names: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update({f"{node.module}.{alias.name}" for alias in node.names})
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    module = module_of(path)
    if module == "__init__":
        return
    known = {name for layer in LAYERS for name in layer}
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "craits_sim" and len(parts) > 1 and parts[1] in known and parts[1] != module:
            assert layer_of(parts[1]) <= layer_of(module), f"{module} imports {parts[1]}, which lies above it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_has_one_home(path: Path) -> None:
    for name in imports_of(path):
        library = name.split(".")[0]
        assert module_of(path) in HOMES.get(library, {module_of(path)}), f"{library} is not imported here"


def test_every_module_has_a_layer() -> None:
    assert {module_of(path) for path in MODULES} - {"__init__"} == {name for layer in LAYERS for name in layer}


def test_an_upward_import_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "upward.py"
    source.write_text("def f():\n    from craits_sim.cli import cli\n")
    assert imports_of(source) == {"craits_sim.cli.cli"}
