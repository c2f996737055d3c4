"""The house of design.md: who may import whom, and what must not be loaded to serve."""

from __future__ import annotations

import ast
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "pearl": set(),
    "retriever": {"pearl"},
    "service": {"pearl", "retriever"},
    "training": {"pearl", "retriever"},
    "eval": {"pearl", "retriever"},
}
# the rooms inside a package, the lowest first: each may import those before it, never one behind it
ROOMS = {
    "eval": ("stats", "report", "asking", "recorded", "benchmarks", "retrieval", "drafts", "judges", "commands"),
    "retriever": (
        *("base", "models", "history", "baselines", "calibrated"),
        *("registry", "candidates_file", "commands"),
    ),
    "training": (
        *("choices", "files", "progress", "templates", "data", "options", "choose", "gains", "fit"),
        *("requests", "account", "recipe", "finish", "commands"),
    ),
}
# modules that start a program: git, the documentation's generator, and the command line itself
STARTS_PROGRAMS = {
    "service/importers/git_process.py",
    "training/finish.py",
    "training/recipes/commits.py",
    "training/recipes/domains.py",
}
# what only trains; torch itself and what loads it may come when a model is loaded, not before
TRAINING_LIBRARIES = {
    "accelerate",
    "datasets",
    "lightning",
    "pandas",
    "peft",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "tensorboard",
    "torch",
    "transformers",
    "trl",
    "wandb",
}
MAX_LINES = 300
MAX_FUNCTION_LINES, MAX_PARAMETERS = 80, 12
MAX_LINES_OF_A_JUDGE = 500  # a whole judge stands in one file


def line_limit(path: Path) -> int:
    declares = path.parent == ROOT / "eval" / "judges" and "\nJUDGE = Judge(" in path.read_text(encoding="utf-8")
    return MAX_LINES_OF_A_JUDGE if declares else MAX_LINES


def modules() -> Iterator[Path]:
    for package in ALLOWED:
        yield from (ROOT / package).rglob("*.py")


@cache
def tree(path: Path) -> ast.Module:
    """A module's syntax, which several tests read."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(path: Path) -> Iterator[tuple[str, int]]:
    """The dotted names of everything a module imports, anywhere in it, and the lines."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively, which hides the arrow"
            assert node.module is not None
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """The first names of everything a module imports, anywhere in it, and the lines."""
    yield from ((name.partition(".")[0], line) for name, line in imported_modules(path))


def test_only_the_arrows_of_the_house():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        for name, line in imported(path)
        for package in (path.relative_to(ROOT).parts[0],)
        if (name in ALLOWED and name != package and name not in ALLOWED[package]) or name in ("tests", "benchmarks")
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ROOMS)
def test_no_arrow_runs_up_between_the_rooms(package):
    """Rooms in one order, a folder or a module each, and arrows that only run down, so folders form no circle."""
    order = {room: floor for floor, room in enumerate(ROOMS[package])}
    folder = ROOT / package
    folders = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    assert folders | {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(order)
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in folder.rglob("*.py")
        for name, line in imported_modules(path)
        for room in (path.relative_to(folder).with_suffix("").parts[0],)
        if name.startswith(f"{package}.") and room in order
        if order[name.split(".")[1]] > order[room]
    ]
    assert wrong == []


def test_only_listed_modules_start_programs():
    """A subprocess of ``pearl`` is an arrow that imports do not show."""
    found = {
        str(path.relative_to(ROOT))
        for path in modules()
        if any(name.partition(".")[0] == "subprocess" for name, _ in imported_modules(path))
    }
    assert found == STARTS_PROGRAMS


def test_only_the_command_line_and_the_plugins_load_modules_by_name():
    found = {
        str(path.relative_to(ROOT))
        for path in modules()
        if "importlib" in {name for name, _ in imported(path)}
        and any(word in path.read_text(encoding="utf-8") for word in ("import_module(", "__import__("))
    }
    assert found == {"pearl/cli.py"}


def test_each_command_is_a_module_of_its_package():
    from pearl.cli import COMMANDS

    for module, _ in COMMANDS.values():
        package, commands, *_ = module.split(".")
        assert package in ALLOWED
        assert commands == "commands"
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def loaded_by(program: str) -> set[str]:
    """The first names of the modules that are loaded when a program ends."""
    program += "\nprint('loaded:', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_importing_the_service_loads_no_training_library():
    loaded = loaded_by("import service.app")
    assert {"service", "retriever", "pearl", "fastapi"} <= loaded
    assert loaded & TRAINING_LIBRARIES == set()
    assert loaded & {"training", "eval"} == set()


def test_making_the_application_loads_none_either(tmp_path):
    program = f"""
from pearl.settings import load_settings
from service.app import create_app
create_app(load_settings(home={str(tmp_path)!r}, llm="embedded", database_url=""))
"""
    assert loaded_by(program) & TRAINING_LIBRARIES == set()


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["import"],
        ["import", "jsonl"],
        ["draft"],
        ["serve"],
        ["keys"],
        ["documents"],
        ["imports"],
        ["voices"],
        ["users"],
        ["move"],
        ["export"],
        ["import", "export"],
        ["rank"],
        ["eval", "retrieval"],
        ["eval", "personalized"],
        ["eval", "style"],
        ["eval", "corrected"],
        ["compare"],
        ["ratings", "page"],
        ["judge"],
        ["judge", "authorship"],
        ["judge", "personalized"],
        ["judge", "style-detect"],
        ["judge", "style-rank"],
    ],
)
def test_help_is_quick_for_it_loads_little(command):
    program = f"""
from pearl.cli import main
sys.argv = ["pearl", *{command!r}, "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
print()
"""
    assert loaded_by(program) & {"fastapi", "starlette", "openai", "cyllama", *TRAINING_LIBRARIES} == set()


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_functions_are_short_and_take_few_parameters(package):
    """Migrations aside, which say what they do one table after another."""
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for taken in (node.args,)
        for number in (len([*taken.posonlyargs, *taken.args, *taken.kwonlyargs]),)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
        or number - (taken.args[:1] != [] and taken.args[0].arg in ("self", "cls")) > MAX_PARAMETERS
    ]
    assert long == []


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_no_class_name_is_defined_twice_in_a_package(package):
    names = Counter(
        node.name
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in names.items() if times > 1] == []


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    passed_over = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in passed_over:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_no_module_is_longer_than_a_noun_needs():
    # to tell code from the rest takes time; most modules are within the limit with all of their lines
    some = [path for path in modules() if path.read_bytes().count(b"\n") > MAX_LINES]
    assert some
    long = {str(path.relative_to(ROOT)): lines for path in some if (lines := code_lines(path)) > line_limit(path)}
    assert long == {}
