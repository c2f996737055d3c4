"""Field types whose checks are those of imports, with errors that keep their code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from pearl.errors import InputError
from pearl.texts import check_characters, check_id, check_text, parse_timestamp

CHECKED = "value"  # its name in a check's message until it is known where it stands


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
Name = Annotated[str, BeforeValidator(_checked(check_id))]  # 1 to 200 printable characters; numbers become text
Timestamp = Annotated[float, BeforeValidator(_checked(parse_timestamp), json_schema_input_type=float | str)]
