"""Every error PEARL raises on purpose.

    PearlError
    ├── InputError             what was given cannot be used (exit status 2, HTTP 422)
    │   ├── NotFound           a user, voice, document, draft or model that is not there (HTTP 404)
    │   ├── Conflict           it contradicts what is already stored (HTTP 409)
    │   ├── TooLarge           over a size limit (HTTP 413)
    │   ├── Malformed          it cannot even be parsed (HTTP 400)
    │   └── ContextExceeded    the request alone does not fit the model's context (HTTP 400)
    ├── AccessError            the key does not allow it (HTTP 403)
    │   └── Unauthenticated    no key, or not a valid one (HTTP 401)
    ├── StoreError             the database cannot do it now (HTTP 503)
    ├── Overloaded             too many wait already (HTTP 503 with retry-after)
    ├── MailError              the mail server cannot be reached, or refuses what it was asked
    ├── Interrupted            Ctrl-C ended a command that had done a part (exit status 130)
    └── ChatError              the chat model did not answer (HTTP 502)
        ├── ChatTimeout        it took too long (HTTP 504)
        ├── ChatRateLimited    it asks us to wait (HTTP 503 with retry-after)
        ├── ChatInterrupted    it broke off in the middle of an answer
        ├── ChatRejected       it will not take this request, now or later
        └── ChatRefused        it declined, or answered nothing

A message says what is wrong and what to do about it. ``param`` names the field at fault, ``code`` is stable
and meant for programs, which read both in HTTP's answers; a command shows the message alone.
"""

from __future__ import annotations

from typing import Any


class PearlError(Exception):
    """Base class of every error of PEARL. Exit status 1 and HTTP 500 unless a subclass says otherwise."""

    exit_status = 1
    http_status = 500
    type = "server_error"
    default_code = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.public = message
        self.param = param
        self.code = code or self.default_code
        self.retry_after = retry_after  # seconds

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__)  # from another process, whatever a subclass is made of


def _restored(kind: type[PearlError], fields: dict[str, Any]) -> PearlError:
    error = kind.__new__(kind, fields["message"])
    error.__dict__.update(fields)
    return error


class InputError(PearlError):
    exit_status = 2
    http_status = 422
    type = "invalid_request_error"
    default_code = "invalid_value"


class NotFound(InputError):
    http_status = 404
    type = "not_found_error"
    default_code = "not_found"


class Conflict(InputError):
    http_status = 409
    type = "conflict_error"
    default_code = "conflict"


class TooLarge(InputError):
    http_status = 413
    default_code = "too_large"


class Malformed(InputError):
    http_status = 400
    default_code = "malformed"


class ContextExceeded(InputError):
    http_status = 400
    default_code = "context_length_exceeded"


class AccessError(PearlError):
    exit_status = 2
    http_status = 403
    type = "permission_error"
    default_code = "permission_denied"


class Unauthenticated(AccessError):
    http_status = 401
    type = "authentication_error"
    default_code = "invalid_api_key"


class StoreError(PearlError):
    """The database failed. ``public`` is the message for API callers, without paths or servers of the operator."""

    http_status = 503
    default_code = "store_unavailable"

    def __init__(self, message: str, *, public: str | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.public = self.public if public is None else public


class Overloaded(PearlError):
    http_status = 503
    type = "overloaded_error"
    default_code = "overloaded"


class MailError(PearlError):
    default_code = "mail_error"


class Interrupted(PearlError):
    exit_status = 130  # 128 and the signal's number, as of every program that Ctrl-C ends
    default_code = "interrupted"


class ChatError(PearlError):
    http_status = 502
    type = "upstream_error"
    default_code = "llm_error"


class ChatTimeout(ChatError):
    http_status = 504
    default_code = "llm_timeout"


class ChatRateLimited(ChatError):
    http_status = 503
    default_code = "llm_rate_limited"


class ChatInterrupted(ChatError):
    default_code = "llm_interrupted"


class ChatRejected(ChatError):
    default_code = "llm_rejected"


class ChatRefused(ChatError):
    default_code = "llm_refused"
