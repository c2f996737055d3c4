"""The house of design.md: who may import whom, and what must not be loaded to serve."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tests.source import ROOT, Source, sources

ALLOWED = {
    "pearl": set(),
    "retriever": {"pearl"},
    "service": {"pearl", "retriever"},
    "training": {"pearl", "retriever"},
    "eval": {"pearl", "retriever"},
}
# the rooms inside a package, the lowest first: each may import those before it, never one behind it
ROOMS = {
    "pearl": (
        *("errors", "clock", "stats", "records", "extras", "theta", "text", "models/runtime", "models/weights"),
        *("settings", "models", "style", "cli"),
    ),
    "service": (
        *("store", "sample", "process", "sign_on", "histories", "drafting", "services", "calibrating"),
        *("importing", "hook", "mail", "http", "commands"),
    ),
    "eval": (
        "stats",
        "report",
        "asking",
        "recorded",
        "benchmarks",
        "retrieval",
        "likeness",
        "drafts",
        "judges",
        "commands",
    ),
    "retriever": (
        *("templates", "base", "models", "history", "baselines", "calibrated", "reward"),
        *("registry", "candidates_file", "commands"),
    ),
    "training": (
        *("config", "files", "progress", "data", "run", "choose", "gains", "fit", "reward"),
        *("requests", "chat", "manifest", "recipe", "finish", "commands"),
    ),
}
# modules that start a program: pip, git, the documentation's generator, and the command line itself
STARTS_PROGRAMS = {"pearl/models/weights/packages.py", "service/process/git_process.py", "training/recipes/domains.py"}
# what only trains; torch itself and what loads it may come when a model is loaded, not before
TRAINING_LIBRARIES = {
    "accelerate",
    "datasets",
    "lightning",
    "pandas",
    "bitsandbytes",
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


def test_only_the_arrows_of_the_house():
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in sources()
        for dotted, line in source.imported()
        for name in (dotted.partition(".")[0],)
        if (name in ALLOWED and name != source.package and name not in ALLOWED[source.package])
        or name in ("tests", "benchmarks")
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ROOMS)
def test_no_arrow_runs_up_between_the_rooms(package):
    """Rooms in one order, a folder or a module each, and arrows that only run down, so folders form no circle."""
    order = {room: floor for floor, room in enumerate(ROOMS[package])}
    folder = ROOT / package
    folders = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    names = {room.partition("/")[0] for room in order}
    assert folders | {path.stem for path in folder.glob("*.py")} - {"__init__"} == names
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in sources()
        if source.package == package
        for room in (room_of(source.path.relative_to(folder).with_suffix("").parts, order),)
        for name, line in source.imported()
        if name.startswith(f"{package}.") and room in order
        if order.get(room_of(name.split(".")[1:], order), 0) > order[room]
    ]
    assert wrong == []


def room_of(parts: Sequence[str], rooms: Mapping[str, int]) -> str:
    """Return the room that a module's path leads to: of a hall on two floors, the one on its own floor."""
    return within if (within := "/".join(parts[:2])) in rooms else parts[0]


def test_no_circle_of_modules():
    """Imports inside functions and under TYPE_CHECKING included: a circle has no lowest module to begin reading at."""
    modules = {
        source.name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): source for source in sources()
    }
    arrows = {
        name: {found for dotted, _ in source.imported() if (found := module_of(dotted, modules)) != name}
        for name, source in modules.items()
    }
    while free := {name for name, below in arrows.items() if not below & arrows.keys()}:
        for name in free:
            del arrows[name]
    assert sorted(arrows) == []  # those in a circle, and those above it


def module_of(dotted: str, modules: Mapping[str, Source]) -> str:
    """Return the module that defines what an import names, "" if it is another library's."""
    while dotted and dotted not in modules:
        dotted = dotted.rpartition(".")[0]
    return dotted


def test_only_listed_modules_start_programs():
    """A subprocess of ``pearl`` is an arrow that imports do not show."""
    starting = {
        source.name
        for source in sources()
        if any(name.partition(".")[0] == "subprocess" for name, _ in source.imported())
    }
    assert starting == STARTS_PROGRAMS


def test_only_the_command_line_and_the_plugins_load_modules_by_name():
    loading = {
        source.name
        for source in sources()
        if any(name.partition(".")[0] == "importlib" for name, _ in source.imported())
        and any(word in source.text for word in ("import_module(", "__import__("))
    }
    assert loading == {"pearl/cli/commands.py", "pearl/models/chat/choose.py"}


def test_each_command_is_a_module_of_its_package():
    from pearl.cli.main import COMMANDS

    for module, _ in COMMANDS.values():
        package, commands, *_ = module.split(".")
        assert package in ALLOWED
        assert commands == "commands"
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def loaded_by(*steps: str) -> list[set[str]]:
    """The first names of the modules that are loaded after each step of a program."""
    note = "\nloaded.append(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    steps = ("import sys\nloaded = []", *(step + note for step in steps), "import json\nprint(json.dumps(loaded))")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(steps)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [set(names) for names in json.loads(done.stdout.splitlines()[-1])]


def test_importing_the_service_and_making_the_application_load_no_training_library(tmp_path):
    create = f"""
from pearl.settings import load_settings
from service.http.app import create_app
create_app(load_settings(home={str(tmp_path)!r}, llm="embedded", database_url=""))
"""
    imported, made = loaded_by("import service.http.app", create)
    assert {"service", "retriever", "pearl", "fastapi"} <= imported
    assert imported & {"training", "eval", *TRAINING_LIBRARIES} == set()
    assert made & TRAINING_LIBRARIES == set()


HELP = [
    [],
    ["import"],
    ["import", "jsonl"],
    ["draft"],
    ["serve"],
    ["mcp"],
    ["keys"],
    ["models"],
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
    ["eval", "agreement"],
    ["compare"],
    ["forensics", "discover"],
    ["ratings", "page"],
    ["judge"],
    ["judge", "authorship"],
    ["judge", "personalized"],
    ["judge", "style-detect"],
    ["judge", "style-rank"],
]


def test_help_is_quick_for_it_loads_little():
    """One process asks for one help after another, so that what any of them loads is there at the end."""
    begin = "from pearl.cli.main import main\n"
    ask = """
sys.argv = ["pearl", *{command!r}, "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    slow = {"fastapi", "starlette", "openai", *TRAINING_LIBRARIES}
    loaded = loaded_by(*(begin + ask.format(command=command) for command in HELP))
    assert [command for command, names in zip(HELP, loaded, strict=True) if names & slow] == []


def test_no_class_name_is_defined_twice_in_a_package():
    names = Counter((source.package, node.name) for source in sources() for node in source.classes)
    assert [name for name, times in names.items() if times > 1] == []
