"""``/health``, ``/health/ready`` and ``/metrics``."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from pearl import __version__
from pearl.errors import PearlError
from service.http.api.bodies import OperatorRoute
from service.http.api.dependencies import Operator, ServicesDep
from service.process.threads import in_thread
from service.services import Services
from service.store import schema

router = APIRouter(tags=["operation"])
operator_router = APIRouter(tags=["operation"], route_class=OperatorRoute)


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"] = Field(description="Always `ok`.")
    version: str = Field(description="The version that runs.", examples=["0.1.0"])


class Readiness(BaseModel):
    """The state of everything that drafts need."""

    status: Literal["ready", "starting", "stopping", "failed"] = Field(
        description="`ready` when drafts can be written.", examples=["ready"]
    )
    checks: dict[str, str] = Field(
        description="`ok`, or what is missing.", examples=[{"database": "ok", "models": "ok", "llm": "ok"}]
    )


@router.head("/health", include_in_schema=False)
@router.get("/health", summary="Is the process alive?")
async def health() -> Health:
    return Health(status="ok", version=__version__)


@router.head("/health/ready", include_in_schema=False)
@router.get(
    "/health/ready",
    response_model=Readiness,
    summary="Can drafts be written?",
    responses={503: {"model": Readiness, "description": "Not yet, or not any more."}},
)
async def ready(services: ServicesDep) -> Response:
    """Check the database and the models. The chat model itself is asked at most every ten seconds."""
    if services.stopping.is_set():
        return JSONResponse({"status": "stopping", "checks": {}}, 503)
    checks = {"database": await in_thread(_database, services), "models": _models(services)}
    waiting = checks["models"] == "loading" and checks["database"] == "ok"
    checks["llm"] = "not asked" if waiting else await services.model.trouble() or "ok"
    status = "ready" if set(checks.values()) == {"ok"} else "starting" if waiting else "failed"
    return JSONResponse({"status": status, "checks": checks}, 200 if status == "ready" else 503)


def _database(services: Services) -> str:
    try:
        trouble = schema.trouble_at_work(services.database.schema_version(to_write=True)[0])
    except PearlError as error:
        return error.public
    return "ok" if trouble is None else trouble.message


def _models(services: Services) -> str:
    if services.load_error is not None:  # this route needs no key, and the path may name a person
        return services.load_error.replace(str(services.settings.home), "PEARL_HOME")
    return "ok" if services.loaded.is_set() else "loading"


@operator_router.get(
    "/metrics",
    summary="Counts and times for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"example": 'pearl_drafts_total{stage="draft",revision="no_threshold"} 3.0'}}}
    },
)
async def metrics(services: ServicesDep, operator: Operator) -> Response:
    """Show metrics to an operator's key: the counts are of all users together."""
    return Response(services.metrics.render(), media_type=CONTENT_TYPE_LATEST)
