"""Notion's export as Markdown and CSV: a zip file, often with another inside. Names of pages end in their ids."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from service.importing.sources.base import Items, Options
from service.importing.sources.markdown import MarkdownImporter
from service.importing.sources.notes.files import NOTION_ID
from service.importing.sources.notes.packed import unpacked

PARTS = "*Part-*.zip"  # in the folder that Safari makes of the zip file


class NotionImporter(MarkdownImporter):
    name = "notion"
    summary = "Notion's export as Markdown & CSV, the zip file as it comes or its folder."
    examples = ("pearl import notion 0f1e_Export-2c3d.zip --user ann --voice notes",)
    advice = " Choose 'Markdown & CSV' when you export; HTML and PDF cannot be read."

    def size(self, source: Path) -> int | None:
        return None  # it is unpacked first

    def read(self, source: Path, options: Options) -> Items:
        parts = sorted(source.glob(PARTS)) if source.is_dir() else []
        with unpacked(*(parts or [source])) as root:
            yield from self._read(root, source if root.is_dir() else source.parent, options)

    def named(self, name: str) -> str:
        """Return the page's id. Its path would not do: it changes with every export and with the titles."""
        page = NOTION_ID.search(PurePosixPath(name).stem)
        return f"notion:{page[0].strip()}" if page else name
