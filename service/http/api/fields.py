"""Field types of the API, with the checks and error codes of imports, and base classes for bodies and answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from pearl.errors import InputError
from pearl.models.prompts import LENGTHS, MOST_WORDS, check_length
from pearl.text.recipients import check_recipient
from pearl.text.usable import (
    FIRST_SECOND,
    LAST_SECOND,
    MAX_ID_LENGTH,
    MAX_TEXT_BYTES,
    RFC_3339,
    check_characters,
    check_id,
    check_text,
    parse_timestamp,
)
from service.store.voices import MOST_INSTRUCTIONS, WHOLE_HISTORY, check_instructions, check_name

CHECKED = "value"  # the field's name in a check's message until it is known


def _check_limit(value: int, *, param: str) -> int:
    if value < 1 and value != NO_LIMIT:
        raise InputError(f"'{param}' must be at least 1, or {NO_LIMIT} for no limit.", code="invalid_limit")
    return value


def _checked(check: Callable[..., Any]) -> Callable[[Any], Any]:
    def validate(value: Any) -> Any:
        try:
            return check(value, param=CHECKED)
        except InputError as error:
            # the message is passed as a value, for it may contain braces
            raise PydanticCustomError(error.code, "{message}", {"message": error.message}) from None

    return validate


def _text(pattern: str, longest: int, **more: Any) -> WithJsonSchema:
    """Make a text's JSON schema for the API's description: what the check accepts, as far as a pattern can say."""
    return WithJsonSchema({"type": "string", "maxLength": longest, "pattern": pattern, **more})


# control characters, blanks, and what has no width
_UNSEEN = (
    r"\s\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
STORABLE = r"^[^\u0000]*$"
NAME = rf"^(?! )(?:[^{_UNSEEN}]| (?!$))+$"
# not empty, at most 1 MB, storable
Text = Annotated[
    str, AfterValidator(_checked(check_text)), _text(rf"^[^\u0000]*[^{_UNSEEN}][^\u0000]*$", MAX_TEXT_BYTES)
]
MaybeEmptyText = Annotated[str, AfterValidator(_checked(check_characters)), _text(STORABLE, MAX_TEXT_BYTES)]
StandingInstructions = Annotated[str, AfterValidator(_checked(check_instructions)), _text(STORABLE, MOST_INSTRUCTIONS)]
# 1 to 200 printable characters; numbers become text
Name = Annotated[str, BeforeValidator(_checked(check_id)), _text(NAME, MAX_ID_LENGTH)]
# an address, handle, name or channel; of a name with an address the address
Recipient = Annotated[str, BeforeValidator(_checked(check_recipient)), _text(NAME, MAX_ID_LENGTH)]
Length = Annotated[
    str | int,
    BeforeValidator(_checked(check_length)),
    WithJsonSchema({"anyOf": [{"enum": list(LENGTHS)}, {"type": "integer", "minimum": 1, "maximum": MOST_WORDS}]}),
]
# a Name other than that of the whole history
StoredVoice = Annotated[
    str, BeforeValidator(_checked(check_name)), _text(NAME, MAX_ID_LENGTH, **{"not": {"const": WHOLE_HISTORY}})
]
# most tokens or results; clients know -1 for no limit from llama.cpp's server and others
NO_LIMIT = -1
Limit = Annotated[
    int,
    AfterValidator(_checked(_check_limit)),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": NO_LIMIT}]}),
]
Timestamp = Annotated[
    float,
    BeforeValidator(_checked(parse_timestamp)),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": FIRST_SECOND, "maximum": LAST_SECOND},
                {"type": "string", "pattern": f"^(?:{RFC_3339.pattern})$"},
            ]
        }
    ),
]


def where(field: str, value: str, then: dict[str, Any]) -> dict[str, Any]:
    """Make a JSON schema rule for the API's description: if ``field`` has this value, ``then`` applies."""
    return {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": then}


class KnownFields(BaseModel):
    """A body, or an object in it, that refuses unknown fields, so that no misspelt field is silently ignored."""

    model_config = ConfigDict(extra="forbid")  # for the schema; the check below comes first and names the known fields

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else ():
            if name not in cls.model_fields:
                message = f"There is no field '{name}' here. There are {', '.join(sorted(cls.model_fields))}."
                unknown = PydanticCustomError("extra_forbidden", "{message}", {"message": message})
                raise ValidationError.from_exception_data(
                    cls.__name__, [InitErrorDetails(type=unknown, loc=(name,), input=None)]
                )
        return value


class OfRecord(BaseModel):
    """An object of an answer, made from a record that has most of its fields."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: Any, **more: Any) -> Self:
        """Make the object from the record's fields of the same names; values in ``more`` take precedence."""
        fields = {name: getattr(record, name) for name in cls.model_fields if hasattr(record, name)}
        if "object" in cls.model_fields:
            (fields["object"],) = get_args(cls.model_fields["object"].annotation)
        return cls.model_validate(fields | more)


class ListedEntry(OfRecord):
    """An entry of a list."""

    id: str


Entry = TypeVar("Entry", bound=ListedEntry)


class EntryPage(BaseModel, Generic[Entry]):
    """A page of a list."""

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
