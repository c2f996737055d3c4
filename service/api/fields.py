"""Field types whose checks are those of imports, with errors that keep their code; and bodies without others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from pearl.errors import InputError
from pearl.texts import check_characters, check_id, check_text, parse_timestamp
from service.store.voices import check_instructions, check_name

CHECKED = "value"  # its name in a check's message until it is known where it stands


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


Text = Annotated[str, AfterValidator(_checked(check_text))]  # not empty, at most 1 MB, storable
MaybeEmptyText = Annotated[str, AfterValidator(_checked(check_characters))]
StandingInstructions = Annotated[str, AfterValidator(_checked(check_instructions))]
Name = Annotated[str, BeforeValidator(_checked(check_id))]  # 1 to 200 printable characters; numbers become text
StoredVoice = Annotated[str, BeforeValidator(_checked(check_name))]  # a Name, but for that of the whole history
# most tokens or results; of llama.cpp's server and its kin clients know -1 for no limit
NO_LIMIT = -1
Limit = Annotated[
    int,
    AfterValidator(_checked(_check_limit)),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": NO_LIMIT}]}),
]
Timestamp = Annotated[float, BeforeValidator(_checked(parse_timestamp), json_schema_input_type=float | str)]


class KnownFields(BaseModel):
    """A body, or an object in one, that takes no fields but its own: a misspelt one must not look as if it counted."""

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
