"""The manifests, read but not run: they pass the schema, and name what the service has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pearl import __version__
from pearl.settings import PREFIX, Settings
from service.commands.serve import REQUESTS_END_S
from service.http.api.sessions import SECRET_BYTES, SECRET_FILE
from service.services import LOADING_ENDS_S

VERSION = "1.33"


@pytest.fixture(scope="module")
def manifests(root: Path) -> dict[str, Any]:
    """By kind."""
    text = (root / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(text)}


def test_they_pass_the_schema(manifests: dict[str, Any]) -> None:
    check = pytest.importorskip("kubernetes_validate")
    for manifest in manifests.values():
        check.validate(manifest, VERSION, strict=True)
    broken = manifests["Service"] | {"spec": {"port": 80}}
    with pytest.raises(check.ValidationError):
        check.validate(broken, VERSION, strict=True)


def test_they_name_settings_and_the_image_of_this_version(manifests: dict[str, Any]) -> None:
    names = {PREFIX + name.upper() for name in Settings.model_fields}
    assert manifests["ConfigMap"]["data"].keys() <= names
    [container] = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"pearl:{__version__}"
    assert {entry["name"] for entry in container["env"]} <= names | {"PGPASSWORD"}
    assert "--port" in container["args"]


def test_a_stop_lets_requests_end_and_pods_share_their_sessions(manifests: dict[str, Any], root: Path) -> None:
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    drained = int(manifests["ConfigMap"]["data"]["PEARL_DRAIN_S"])
    assert pod["terminationGracePeriodSeconds"] >= drained + REQUESTS_END_S + LOADING_ENDS_S
    mounts = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
    assert f"/var/lib/pearl/{SECRET_FILE}" in mounts
    text = (root / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")
    assert f"openssl rand -hex {SECRET_BYTES // 2}" in text
