"""The choices that the papers leave open, by the commands that have them."""

from __future__ import annotations

from eval.asking.choices import Presets


def declared_choices() -> dict[str, Presets]:
    """The choices by the commands that have them."""
    from eval.commands.judge import items
    from eval.commands.judge.made import presets_of
    from eval.drafts import stance
    from eval.judges import authorship, discover, personalized, quality, style_detect, style_rank, style_write, traits
    from eval.recorded.personalized import presets as recorded
    from eval.recorded.quality import experts
    from eval.recorded.style import choices as style

    judges = (authorship, personalized, quality, style_detect, style_rank, style_write)
    declared = {f"`pearl judge {each.JUDGE.name}` ({each.JUDGE.source})": presets_of(each.JUDGE) for each in judges}
    return declared | {
        f"`pearl forensics discover`, and all but the last two `annotate` ({traits.JUDGE.source})": discover.PRESETS,
        **{f"`pearl judge items --from {name}`": source.presets for name, source in items.SOURCES.items()},
        "`pearl eval personalized`": recorded.PRESETS,
        "`pearl eval style`": style.PRESETS,
        "`pearl eval experts`": experts.PRESETS,
        "`pearl eval generation --stances --stance-rules PRESET`": stance.PRESETS,
    }
