"""``pearl check``"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json
from pearl.settings import load_settings
from pearl.text.usable import check_text

if TYPE_CHECKING:
    from pearl.records import Claim
    from pearl.style.claims.claims import Sample

ABOUT = """A claim is marked in the draft: [=carried over=] from a sample alone, [?unsupported?] by anything given,
[!commitment!] that the request does not make, [+stronger+] than asked (an apology, a "might" that is gone) or
[-weaker-]. Below the draft stands where each comes from, and what the draft dropped. What the conversation or the
instructions say may be added to --request.

No model is asked: the rules are those of `pearl/style/claims`."""
EXAMPLES = """
  pearl check draft.txt --request "Tell Nan the rails are ready on Friday" --sample letters/coats.txt
  pearl draft "Tell Nan the rails are ready" | pearl check - --request "Tell Nan the rails are ready" --user ada
  pearl check draft.txt --request "..." --user ada --voice email --json - | jq .claims
"""
MARKS = {
    "carried_over": ("[=", "=]"),
    "unsupported": ("[?", "?]"),
    "commitment": ("[!", "!]"),
    "stronger": ("[+", "+]"),
    "weaker": ("[-", "-]"),
}


def check(
    file: str = typer.Argument(metavar="DRAFT", help="Draft to check; '-' reads standard input."),
    request: str = typer.Option(..., metavar="TEXT", help="Request that the draft answers."),
    sample: list[Path] = typer.Option([], metavar="FILE", help="Text that the draft was written after; repeatable."),
    user: str | None = typer.Option(
        None, "--user", metavar="U", help="User whose texts count as samples: those that a draft would be shown."
    ),
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="One of the user's voices."),
    json: str | None = JSON_OPTION,
) -> None:
    """Find what a draft claims without a basis: facts from other texts, invented facts, promises; and what it left
    out."""
    # only here: they come with the store, which help does without
    from pearl.style.claims.claims import Sample, claims
    from pearl.style.claims.languages import not_read
    from service.commands.common import read_text
    from service.commands.shown import claim_lines, for_terminal
    from service.http.api.draft_form import ClaimOut

    check_writable("--json", json, [Path(file), *sample])
    check_text(request, param="--request")
    draft = read_text("DRAFT", file)
    samples = [Sample(str(path), read_text("--sample", str(path))) for path in sample]
    if user is None and voice is None:
        found = claims(draft, request, samples)
    else:
        found = _with_history(user, voice, request, draft, samples)
    if json:
        shown = [ClaimOut.model_validate(claim).model_dump() for claim in found]
        write_json(json, {"claims": shown, "not_read": not_read(draft)})
        return
    typer.echo(for_terminal(_marked(draft, found)))
    for line in (*claim_lines(found), *(f"Note: {what}." for what in not_read(draft))):
        typer.echo(line, err=True)


def _with_history(
    user: str | None, voice: str | None, request: str, draft: str, samples: Sequence[Sample]
) -> list[Claim]:
    """Find a draft's claims. The documents that would be shown for this request count as samples, too."""
    from service.commands.writing import open_services, say
    from service.drafting.drafter import DraftJob
    from service.drafting.wire import Found, Order, ServerGone, answers
    from service.store.voices import chosen

    settings, job = load_settings(), DraftJob(request, chosen(voice))
    with suppress(ServerGone), closing(answers(settings, Order(user, job, draft, tuple(samples)), say)) as found:
        for answer in found:
            if isinstance(answer, Found):
                return answer.claims

    async def find() -> list[Claim]:
        services = open_services(settings)
        try:
            return await services.claims_for(user, job, draft, samples)
        finally:
            await services.stop()

    return asyncio.run(find())


def _marked(draft: str, found: Sequence[Claim]) -> str:
    """Return the draft with marks around its claims. A claim that overlaps the one before is not marked."""
    parts, end = [], 0
    for claim in found:
        if claim.start is None or claim.end is None or claim.start < end:
            continue
        begin, close = MARKS[claim.kind]
        parts += [draft[end : claim.start], begin, claim.text, close]
        end = claim.end
    return "".join((*parts, draft[end:]))
