"""The compose file, read but not run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from sqlalchemy.engine import make_url

from pearl import __version__
from pearl.settings import PREFIX, Settings
from service.commands.serve import REQUESTS_END_S
from service.services import LOADING_ENDS_S

SECRET = re.compile(r"PASSWORD|KEY|SECRET|TOKEN")
PINNED = re.compile(r"[\w./-]+:v?\d[\w.-]*")


@pytest.fixture
def example(root: Path) -> dict[str, str]:
    """deploy/env.example, what is commented out there too."""
    lines = (root / "deploy" / "env.example").read_text(encoding="utf-8").splitlines()
    assignments = [line.removeprefix("#") for line in lines if re.match(r"#?[A-Z_]+=", line)]
    return dict(line.split("=", 1) for line in assignments)


def test_services_have_pinned_images_health_checks_and_restart(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"pearl", "database", "redis", "prometheus"}
    for service in compose["services"].values():
        assert PINNED.fullmatch(service["image"]), service["image"]
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
    assert compose["services"]["pearl"]["image"] == f"pearl:{__version__}"
    assert compose["services"]["database"]["image"].startswith("docker.io/library/postgres:18")


def test_a_stop_lets_requests_and_a_model_that_is_being_loaded_end(compose: dict[str, Any], root: Path) -> None:
    needed = REQUESTS_END_S + LOADING_ENDS_S + 5
    assert int(compose["services"]["pearl"]["stop_grace_period"].removesuffix("s")) >= needed
    page = (root / "docs" / "deploying.md").read_text(encoding="utf-8")
    [by_hand] = re.findall(r"docker run .*--stop-timeout (\d+)", page)
    assert int(by_hand) >= needed


def test_the_service_waits_for_what_it_needs(compose: dict[str, Any]) -> None:
    healthy = {"condition": "service_healthy"}
    assert compose["services"]["pearl"]["depends_on"] == {"database": healthy, "redis": healthy}
    storage = compose["services"]["pearl"]["environment"]["PEARL_RATE_LIMIT_STORAGE"]
    assert urlsplit(storage).hostname == "redis"


def test_prometheus_is_wanted_by_name_and_reads_files_that_exist(compose: dict[str, Any], root: Path) -> None:
    prometheus = compose["services"]["prometheus"]
    assert prometheus["profiles"] == ["monitoring"]
    mounted = [volume.split(":")[0] for volume in prometheus["volumes"] if volume.startswith("./")]
    assert [name for name in mounted if not (root / "deploy" / name).is_file()] == ["./pearl.key"]
    [job] = yaml.safe_load((root / "deploy" / "prometheus.yaml").read_text(encoding="utf-8"))["scrape_configs"]
    [target] = job["static_configs"][0]["targets"]
    assert target == f"pearl:{compose['services']['pearl']['command'][4]}"


def test_the_image_is_built_from_the_root(compose: dict[str, Any], root: Path) -> None:
    build = compose["services"]["pearl"]["build"]
    context = (root / "deploy" / build["context"]).resolve()
    assert context == root.resolve()
    assert (context / build["dockerfile"]).is_file()


def test_the_command_has_options_that_exist(compose: dict[str, Any], serve_options: set[str]) -> None:
    command, *arguments = compose["services"]["pearl"]["command"]
    assert command == "serve"
    assert {word for word in arguments if word.startswith("-")} <= serve_options
    assert "0.0.0.0" in arguments


def test_the_url_names_the_database_service_and_its_user(compose: dict[str, Any]) -> None:
    pearl, database = (compose["services"][name] for name in ("pearl", "database"))
    url = make_url(pearl["environment"]["PEARL_DATABASE_URL"])
    assert url.drivername == "postgresql+psycopg"
    assert url.host == "database"
    assert url.username == database["environment"]["POSTGRES_USER"]
    assert url.password is None, "libpq reads it from PGPASSWORD, where it needs no URL encoding"


def test_no_secret_is_written_down(compose: dict[str, Any], example: dict[str, str]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            assert not SECRET.search(name) or str(value).startswith("${"), name
    assert not any(value for name, value in example.items() if SECRET.search(name))


def test_the_environment_file_is_kept_out_of_git(compose: dict[str, Any], root: Path) -> None:
    assert compose["services"]["pearl"]["env_file"] == ".env"
    ignored = subprocess.run(["git", "check-ignore", "--quiet", "deploy/.env"], cwd=root, check=False)
    if ignored.returncode == 128:
        pytest.skip("this is a copy without git")
    assert ignored.returncode == 0


def test_the_example_sets_what_compose_asks_for_and_settings_that_exist(
    compose: dict[str, Any], example: dict[str, str]
) -> None:
    asked = set(re.findall(r"\$\{(\w+)", str(compose)))
    assert asked == {"PGPASSWORD"} <= set(example)
    settings = {PREFIX + name.upper() for name in Settings.model_fields}
    assert {name for name in example if name.startswith(PREFIX)} <= settings


def test_the_service_is_reached_on_loopback_and_cannot_do_much(compose: dict[str, Any]) -> None:
    pearl = compose["services"]["pearl"]
    assert pearl["ports"] == ["127.0.0.1:8000:8000"]
    assert not any("ports" in compose["services"][name] for name in ("database", "redis"))
    assert pearl["read_only"] is True
    assert pearl["cap_drop"] == ["ALL"]


def test_data_is_on_volumes_where_the_images_keep_it(compose: dict[str, Any]) -> None:
    volumes = [volume for service in compose["services"].values() for volume in service.get("volumes", ())]
    mounts = [volume.split(":") for volume in volumes if not volume.startswith("./")]
    assert {name for name, _ in mounts} == set(compose["volumes"])
    # since PostgreSQL 18 its image keeps the data in a folder below this one, named by the version
    assert {target for _, target in mounts} == {"/var/lib/pearl", "/var/lib/postgresql", "/prometheus"}
