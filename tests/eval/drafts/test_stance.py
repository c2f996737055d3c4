from __future__ import annotations

import pytest

from eval.drafts.stance import AS_PUBLISHED, NTA, NTA_KEYWORDS, YTA, YTA_KEYWORDS, stance

TAKEN = {
    YTA: [
        "YTA",
        "yta. grow up",
        "Y.T.A. sorry",
        "Gentle YTA",
        "YTA!!!",
        '"YTA"',
        "YWBTA if you did",
        "if you do that, YTA",
        "I'd say YTA",
        "So YTA",
        "You're the asshole here.",
        "You’re the a**hole",
        "you are definitely the a-hole for that",
        "You're such an asshole",
        "you're 100% the asshole",
        "You're kinda the asshole",
        "You're TA",
        "You're the arsehole mate",
        "OP is the asshole",
        "Everyone saying NTA is wrong, YTA",
        "People will call you NTA, but YTA",
        "> NTA\nNo. YTA.",
    ],
    NTA: [
        "NTA",
        "Nta, they are rude",
        "**NTA**",
        "nah NTA",
        "YWNBTA",
        "I have to vote NTA",
        "you are not the asshole",
        "you aren't an asshole for asking",
        "Not the asshole. Your sister is.",
        "Definitely not the AH",
        "Honestly, not the asshole",
        "I don't think you're the asshole",
        "I don't think YTA here",
        "Everyone saying YTA is wrong, NTA",
        "> YTA\nNTA",
        "It's NTA from me",
    ],
    None: [
        "",
        "data analytics",
        "NTA but YTA for the second part",
        "You are not the asshole. You are the asshole.",
        "ESH",
        "ESH, mostly YTA",
        "NAH",
        "Everyone sucks here, NTA though",
        "Your sister is NTA",
        "She's not the asshole, you are",
        "He was the asshole",
        "Your boss is an asshole",
        "I'm not sure if YTA",
        "Why would anyone say YTA?",
        "You're the asshole?",
        "Everyone saying YTA is wrong",
        "My wife says NTA",
        "AITA? Yes",
        "Am I the asshole?",
        "you're an asshole magnet",
        "you're not the only asshole",
        "You are the bigger asshole",
        "not YTA",
        "You're not NTA",
        "I wonder whether you are the asshole",
        "I'm not saying you're the asshole, but",
        "It's not that you're the asshole",
        "I doubt you're the asshole",
        "you are the ta",
        "ΝTA",  # the first letter is Greek
        "NTAs everywhere",
        "> NTA",
    ],
}


@pytest.mark.parametrize(("taken", "text"), [(taken, text) for taken, texts in TAKEN.items() for text in texts])
def test_the_stance_that_a_text_takes(taken: str | None, text: str):
    assert stance(text) == taken


@pytest.mark.parametrize("piece", ["a ", "you are ", "lyly", "YTA ", "not ", " ", ">\n"])
def test_a_long_text_takes_no_more_than_its_length(grows_linearly, piece: str):
    grows_linearly(stance, piece, 20_000)


def test_the_published_keywords():
    """23 of them; ours has a label for all but two, of which one also means no and one is an interjection."""
    published = {**dict.fromkeys(NTA_KEYWORDS, NTA), **dict.fromkeys(YTA_KEYWORDS, YTA)}
    assert (len(NTA_KEYWORDS), len(YTA_KEYWORDS)) == (12, 11)
    assert {word: stance(f"{word}, sorry", AS_PUBLISHED) for word in published} == published
    assert {word for word, given in published.items() if stance(word) != given} == {"nah", "not ah"}


@pytest.mark.parametrize(
    ("text", "published", "ours"),
    [
        ("A presentation about plants", NTA, None),  # "nta" stands in the middle
        ("Hannah came", NTA, None),
        ("Nah, YTA", None, YTA),
        ("Does that make you the asshole?", YTA, None),
        ("Your sister is not the asshole", NTA, None),
        ("You’re the asshole", None, YTA),  # another apostrophe
        ("You're such an a-hole", None, YTA),
        ("NTA but YTA for the second part", None, None),
    ],
)
def test_where_keywords_and_rules_differ(text, published, ours):
    assert (stance(text, AS_PUBLISHED), stance(text)) == (published, ours)


def test_what_makes_it_a_question_or_somebody_elses():
    for text in ("You the asshole?", "Are you the asshole", "She says you the asshole", "u re not the asshole?"):
        assert stance(text) is None
