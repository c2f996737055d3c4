"""The reward model that ships with the package."""

from __future__ import annotations

from retriever.reward.model import RewardModel

DRAFT = (
    "As golden light bathed the kitchen, Mara felt a deep sense of longing wash over her, a tapestry of memories "
    "weaving itself into the silence. The kettle's whisper was a testament to the mornings they had shared, each "
    "one a delicate dance between hope and loss, and somehow she knew that nothing would ever be the same."
)
EDITED = (
    "Mara put the kettle on. Two cups; then she put one back. He used to stand there by the window, complaining about "
    "the neighbours' dog. The dog was still barking. She let the water boil dry."
)


def test_it_prefers_what_a_writer_would_leave():
    model = RewardModel.load("embedded")
    draft, edited = model.score([DRAFT, EDITED])
    assert 1 <= draft < edited <= 10
    assert model.prefer([DRAFT], [EDITED])[0] < 0 < model.prefer([EDITED], [DRAFT])[0]
    assert model.artifact.variant == "PR"


def test_no_rule_of_length_is_better_on_the_other_kinds_that_it_was_held_against():
    artifact = RewardModel.load("embedded").artifact
    assert artifact.may_ship
    kinds = artifact.figures["other_kinds"]
    assert len(kinds) == 5
    for kind in kinds:
        for part in (kind["all_pairs"], kind["equal_length"]):
            assert part["accuracy"]["value"] >= max(part["baselines"].values())
