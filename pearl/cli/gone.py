"""Options and commands that went, and what took their place: a script that still names one is told so."""

from __future__ import annotations

CONSTANT = "it is a constant now; leave it out"
KEPT = "kept replies are used anyway; --dry-run says what is missing"
# a command, or the words that several begin with, and what went from below it
GONE = {
    **{f"{command} --resamples": CONSTANT for command in ("eval", "forensics")},
    **{f"{command} --seed": CONSTANT for command in ("eval", "forensics")},
    "eval --without-near-duplicates": "give --near-duplicates 0.5",
    "eval manner": "the tag experiments-2026-11 has it",
    **{
        f"train --{name}": f"give --choose {name}=VALUE"
        for name in ("tau", "y0", "normalize", "share", "positives", "negatives", "loss")
    },
    **{
        f"train chat --{name.replace('_', '-')}": f"give --choose {name}=VALUE"
        for name in ("rank", "alpha", "dropout", "epochs", "rate", "batch", "accumulate", "max_tokens", "patience")
    },
    **{f"{command} --replay": KEPT for command in ("judge", "forensics")},
    "search": "use pearl documents list WORDS, or for drafts pearl drafts list WORDS",
    "documents search": "use pearl documents list WORDS",
    "train --lora": "a cross-encoder is trained whole; leave it out",
}


def gone(path: str, name: str) -> str | None:
    """Return what took the place of an option of the command of this path, or of the command ``name`` below it; None
    for what never was."""
    words = path.split()[1:]
    places = (" ".join((*words[:count], name)) for count in range(len(words), -1, -1))
    return next((f"{name} went: {GONE[place]}" for place in places if place in GONE), None)
