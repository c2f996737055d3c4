"""Commands and options that went, and what took their place."""

from __future__ import annotations

from typer._click.exceptions import NoSuchOption, UsageError

# a command line without ``pearl`` -> a sentence for somebody who typed it
GONE: dict[str, str] = {
    "migrate": "'pearl migrate' went: `pearl serve` and every other command bring the database's schema up to date.",
    "documents mine": "'pearl documents mine' went: `pearl feedback ID --mine` says that a sent draft is yours.",
    "eval sets": "'pearl eval sets' went: 'pearl eval shown' compares how many documents to show, by drafts.",
    "train floor": "'pearl train floor' went: 'pearl train fit' chooses the floor on dev users' latest requests.",
    "train level": "'pearl train level' went: 'pearl train fit' fits a level on all histories that it is given.",
    "train sets": "'pearl train sets' went: 'pearl train score' measures each document alone.",
    "judge style-prompts": "'pearl judge style-prompts' went: 'pearl eval style --prompts' ranks system prompts.",
    "judge persona-items": "'pearl judge persona-items' went: 'pearl judge items --from' takes the same data.",
    "judge style-pairs": "'pearl judge style-pairs' went: 'pearl judge items --from styled' pairs texts.",
    "judge quality-items": "'pearl judge quality-items' went: 'pearl judge items --from ranked' makes its pairs.",
    "judge quality-chats": "'pearl judge quality-chats' went: 'pearl judge items --from quality' writes them.",
    "eval people": "'pearl eval people' went: 'pearl eval personalized --ratings' compares people with judges.",
}
_SCORED = "partition targets candidates target-tokens document-tokens request-tokens examples"
_FITTED = (
    "proxies weight base warm-start no-warm-start own-requests no-own-requests frozen-layers max-tokens request-words "
    "rate epochs"
)
for _step, _options in (("score", _SCORED), ("fit", _FITTED), ("retriever", f"{_SCORED} {_FITTED}")):
    for _option in _options.split():
        _choice = _option.removeprefix("no-").replace("-", "_")
        GONE[f"train {_step} --{_option}"] = f"--{_option} went: --choose {_choice}=VALUE."


def what_took_its_place(error: UsageError, words: list[str]) -> str | None:
    """Return the sentence for the command or option of ``words``, the command line without ``pearl``, that `error` did
    not find; None where no such command or option ever was.
    """
    if isinstance(error, NoSuchOption) and error.ctx:
        return GONE.get(f"{error.ctx.command_path} {error.option_name}".partition(" ")[2])
    return next((sentence for gone, sentence in GONE.items() if words[: gone.count(" ") + 1] == gone.split()), None)
