"""Files as they come from elsewhere: in a folder, or packed into a zip file; what is no text or bytes becomes JSON."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def encoded(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()


def laid(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write the files into the folder, with the folders in their names; return it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded(content))
    return folder


def zipped(files: Mapping[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 9)), encoded(content), compression)
    return data.getvalue()


def packed(path: Path, files: Mapping[str, Any], compression: int = zipfile.ZIP_STORED) -> Path:
    """Write a zip file of the files; return its path."""
    path.write_bytes(zipped(files, compression))
    return path
