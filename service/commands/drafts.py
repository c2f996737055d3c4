"""``pearl drafts``"""

from __future__ import annotations

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, USER_OPTION, write_json
from pearl.settings import load_settings
from service.commands.common import open_database
from service.commands.shown import (
    AFTER_OPTION,
    LIMIT_OPTION,
    WORDS_ARGUMENT,
    excerpt,
    excerpt_with,
    moment,
    searched,
    show_table,
)
from service.store import drafts, feedback, users
from service.store.drafts import StoredDraft
from service.store.paging import PageQuery

app = group("List a user's latest drafts, and what became of them. 'pearl draft' writes a new one.")
app.callback()(lambda: None)  # else typer would make the one command the whole group

EXAMPLES = """
  pearl drafts list
  pearl drafts list costume rails --user ada --json - | jq -r '.drafts[0].text'
"""
LISTED = ("id", "created_at", "voice", "request", "text", "stage")


@app.command("list", epilog=epilog(EXAMPLES))
def list_drafts(
    words: list[str] = WORDS_ARGUMENT,
    user: str | None = USER_OPTION,
    limit: int = LIMIT_OPTION,
    after: str | None = AFTER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """List drafts, the newest first, with what became of each; with WORDS only drafts that contain all of them."""
    sought = searched(words)
    with open_database(load_settings()) as database, database.read() as connection:
        owner = users.chosen(connection, user)
        page = drafts.page(connection, owner.id, PageQuery(limit, after, newest_first=True, words=sought))
        outcomes = {given.draft_id: given.outcome for given in feedback.all_of_user(connection, owner.id)}
    if json:
        listed = [
            {name: getattr(draft, name) for name in LISTED} | {"outcome": outcomes.get(draft.id)}
            for draft in page.drafts
        ]
        write_json(json, {"drafts": listed, "has_more": page.has_more})
        return

    def row(draft: StoredDraft) -> tuple[str, ...]:
        begin = excerpt(draft.request) if sought is None else excerpt_with(draft.request, sought)
        return draft.id, moment(draft.created_at), draft.voice or "-", outcomes.get(draft.id, "-"), begin

    if not page.drafts:
        typer.echo("No drafts." if sought is None else f"No draft contains {sought!r}.", err=True)
        return
    show_table(("id", "written", "voice", "outcome", "request"), map(row, page.drafts))
    if page.has_more:
        typer.echo(f"There are more; go on with --after {page.drafts[-1].id}", err=True)
