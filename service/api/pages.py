"""The page that every listing route answers with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, Self, TypeVar

from pydantic import BaseModel, Field


class ListedEntry(BaseModel):
    """An entry of a list."""

    id: str


Entry = TypeVar("Entry", bound=ListedEntry)


class EntryPage(BaseModel, Generic[Entry]):
    """A page of entries; ids stand in it so that clients need not look for them."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[Entry] = Field(description="The entries of this page.", examples=[[]])
    has_more: bool = Field(description="True when another page follows.", examples=[False])
    first_id: str | None = Field(description="Id of the first entry here.", examples=["email-009"])
    last_id: str | None = Field(description="Give it as `after` for the next page.", examples=["email-010"])

    @classmethod
    def of(cls, data: Sequence[Entry], has_more: bool) -> Self:
        return cls(
            object="list",
            data=list(data),
            has_more=has_more,
            first_id=data[0].id if data else None,
            last_id=data[-1].id if data else None,
        )
