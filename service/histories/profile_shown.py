"""The voice card in words: for its owner, as a prompt for any model, and as SKILL.md."""

from __future__ import annotations

import re
import unicodedata

from pearl.text.usable import counted
from pearl.text.words import folded
from service.histories.profile import Profile
from service.store.profiles import STRUCK

MARKS = re.compile("[\u0300-\u036f]+")
FORMATS = ("json", "text", "prompt", "skill")


def as_text(profile: Profile) -> str:
    """The lines with their states and examples."""
    where = f"the voice '{profile.voice}'" if profile.voice else "the whole history"
    parts = [
        f"Manner of {where}: {counted(profile.texts, 'text')} of {counted(profile.occasions, 'day')}, against "
        f"{profile.compared_with}."
    ]
    for name, edge in profile.edges.items():
        if edge is not None:
            begin = "begin" if name == "greeting" else "end"
            parts.append(f"* {edge['texts']:,} of {edge['of']:,} texts {begin} “{edge['text']}”.")
    if profile.needs:
        parts.append(profile.needs)
    elif profile.left_out:
        parts.append(f"Left out: {counted(profile.left_out, 'text')} in a language that they do not write.")
    for line in profile.lines:
        parts.append(f"- {line.text}" + ("" if line.state == "listed" else f" [{line.state}]"))
        if line.habit is not None:
            parts.append(f"    {line.name}: in {line.habit.texts:,} texts of {line.habit.occasions:,} days, such as")
            parts += [f"    {example.id}: {example.excerpt}" for example in line.habit.examples]
    parts += [f"- {manner.text} [{counted(manner.texts, 'text')}]" for manner in profile.recipients]
    for push in profile.pushes:
        if push.p_corrected < 0.05:
            parts.append(
                f"* Your edits change {push.label}: {push.draft:.2f} to {push.sent:.2f} {push.unit} "
                f"(p {push.p_corrected:.3f}, corrected)."
            )
    return "\n".join(parts) + "\n"


def as_prompt(profile: Profile) -> str:
    """The lines as instructions, without texts and ids."""
    lines = [f"- {line.instruction}" for line in profile.lines if line.state != STRUCK]
    if not lines:
        return "No habit is known yet.\n"
    return "Write in this person's manner:\n" + "\n".join(lines) + "\n"


def as_skill(profile: Profile) -> str:
    """A SKILL.md: a header with name and description, then the instructions."""
    voice = profile.voice or "writing"
    letters = MARKS.sub("", unicodedata.normalize("NFKD", folded(f"{voice}-voice")))  # "für" as "fur"
    name = re.sub(r"[^a-z0-9]+", "-", letters).strip("-") or "voice"
    about = " ".join(
        f"Use when drafting {voice} for this person: their habits, measured over {profile.texts:,} texts.".split()
    )
    return f"---\nname: {name}\ndescription: {about!r}\n---\n\n# Voice\n\n{as_prompt(profile)}"


def shown_as(profile: Profile, format: str) -> str:
    """The card in one of the FORMATS other than JSON."""
    return {"text": as_text, "prompt": as_prompt, "skill": as_skill}[format](profile)
