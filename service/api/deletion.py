"""The answer to a deletion: 204 if every trace is erased, 202 while the database's files still have some."""

from __future__ import annotations

from typing import Any, Literal

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

ERASING = (
    "It is deleted and will not be shown or used again. Another program is reading the database's files, or their disk "
    "is full; they are overwritten as soon as that ends. Nothing is left for you to do."
)


class Erasing(BaseModel):
    """Deleted, with traces left in the database's files for a while."""

    object: Literal["deletion"] = Field(description="Always `deletion`.", examples=["deletion"])
    status: Literal["erasing"] = Field(description="Always `erasing`.", examples=["erasing"])
    message: str = Field(description="The same in a sentence.", examples=[ERASING])


ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"model": Erasing, "description": "Deleted; the database's files are still to be overwritten."}
}


def deletion_answer(erased: bool) -> Response:
    """Make the answer: 204 without a body, or 202 if traces are left in the files."""
    if erased:
        return Response(status_code=204)
    return JSONResponse(Erasing(object="deletion", status="erasing", message=ERASING).model_dump(), 202)
