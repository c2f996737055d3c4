"""Files of a data set on the hub of Hugging Face: ``hf://datasets/OWNER/NAME/FILE``, with ``@REVISION`` behind NAME."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pearl.errors import InputError

# a path of the command line has one of the two slashes left
_HUB = re.compile(r"hf:/{1,2}datasets/(?P<name>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<file>.+)")


def local_file(path: Path) -> Path:
    """The file itself, or the copy of a hub's file in the hub's cache, loaded once. Raises InputError where there is
    none, or the hub cannot be reached."""
    address = _HUB.fullmatch(str(path))
    if address is None:
        return path
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        local = hf_hub_download(
            address["name"],
            address["file"],
            repo_type="dataset",
            revision=address["revision"],
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except (OSError, HFValidationError, HfHubHTTPError) as error:
        said = str(error).strip().partition("\n")[0]
        raise InputError(f"{path}: cannot be loaded from the hub: {said}", code="unreadable_file") from error
    return Path(str(local))
