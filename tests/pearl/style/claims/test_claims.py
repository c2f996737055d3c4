"""What a draft claims, by a table: each fact in another form is the same fact."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pearl.records import Claim
from pearl.style.claims.claims import CARRIED_OVER, COMMITMENT, DROPPED, UNSUPPORTED, Sample, claims
from pearl.style.claims.known_text import forget_samples
from pearl.style.claims.strength import STRONGER, WEAKER

COATS = Sample("coats", "We are collecting winter coats again for anyone in Skellmouth who is cold.\n\nBest, Ada")
RAILS = "Tell Nan that the costume rails will be ready on Friday."


def found(draft: str, request: str, *samples: str) -> list[tuple[str, str]]:
    got = claims(draft, request, [Sample(str(number), text) for number, text in enumerate(samples)])
    for claim in got:
        if claim.start is not None:
            assert draft[claim.start : claim.end] == claim.text
    return [(claim.kind, claim.text) for claim in got]


def test_a_sentence_of_another_letter_is_carried_over():
    text = "We are collecting winter coats again for anyone in Skellmouth"
    draft = f"Nan, the costume rails will be ready on Friday. {text}."
    start = draft.index(text)
    assert claims(draft, RAILS, [COATS]) == [Claim(CARRIED_OVER, text, start, start + len(text), "coats")]


@pytest.mark.parametrize(
    "draft", ["Your terms are indeed not the usual ones.", "The new terms are still not the usual ones, are they?"]
)
def test_six_words_with_one_changed_are_a_clause(draft):
    (claim,) = found(draft, "Answer them.", "I said: your terms are still not the usual ones.")
    assert claim[0] == CARRIED_OVER
    assert "not the usual ones" in claim[1]


CHAIRS = "The library opens again after the {} and all of the old chairs have been mended by volunteers"
PATCH = "The patch adds these.\n- Add a helper. The walls are red because it was cheap."
SUMMER, WINTER = "The library opens again after the long summer", "The library opens again after the short summer"
DERIVED = "Derived from src/soc/intel/{}/graphics.{} with all changes needed here."
THANKS = ("Many thanks for all the work you do. Bring chairs.", "Many thanks for all the work you do! Ilse rang.")


@pytest.mark.parametrize(
    ("draft", "request_text", "samples", "claimed"),
    [
        # a clause with one word changed is carried over whole, and claimed once
        (CHAIRS.format("winter"), "Say it.", [CHAIRS.format("summer")], [(CARRIED_OVER, CHAIRS.format("winter"))]),
        (f"{SUMMER}. {WINTER}.", "Say it.", [f"{SUMMER}."], [(CARRIED_OVER, SUMMER)]),
        # it does not begin in another sentence or item
        ("The patch adds these.\n- Add a test.", "Say it.", [PATCH], []),
        ("I have a helper. The walls are green.", "Say it.", [PATCH], []),
        # a fact within it that no sample has is unsupported
        (
            "Place it where the user says by CONFIG_RMA_BIN.",
            "Say it.",
            ["Place it where the user says by CONFIG."],
            [(CARRIED_OVER, "Place it where the user says by"), (UNSUPPORTED, "CONFIG_RMA_BIN")],
        ),
        # what two samples have is manner, or the person's world
        ("Many thanks for all the work you do. The rails are ready.", "Say the rails are ready.", THANKS, []),
        ("We at 18F are ready.", "Say we are ready.", ["18F is here.", "Ask 18F."], []),
        (
            "The rails are in Skellmouth.",
            "Say where the rails are.",
            ["We meet in Skellmouth on Sunday.", "The boats of Skellmouth are in."],
            [],
        ),
        ("Call `this._next()` or `_next`.", "Say it.", [], [(UNSUPPORTED, "`this._next()`")]),
        ("Nan, the costume rails will be ready on Friday at 10:30.", RAILS, [], [(UNSUPPORTED, "10:30")]),
        ("The costume rails will be ready on Friday.", RAILS, [], [(DROPPED, "Nan")]),
    ],
)
def test_clauses_and_facts(draft, request_text, samples, claimed):
    assert found(draft, request_text, *samples) == claimed


def test_a_fact_within_a_clause_that_no_sample_has_is_unsupported():
    assert (UNSUPPORTED, "src/soc/intel/cannon/graphics.h") in found(
        DERIVED.format("cannon", "h"), "Say it.", DERIVED.format("apollo", "c")
    )


def test_a_promise_is_a_commitment_unless_the_request_asks_for_it():
    draft = "The costume rails are ready, Nan. I'll send them on Friday."
    assert found(draft, RAILS) == [(COMMITMENT, "I'll send them on Friday")]
    for request in ("I'll send them on Friday, say that, too.", "Say that we send them.", "Offer to send them."):
        assert found(draft, f"{RAILS} {request}") == []


def test_where_the_writers_own_edges_stand_nothing_is_claimed():
    draft = "Hullo Wren,\n\nThe rails are ready at 9:30.\n\nFrom the Pier 7 crew,\nOtti"
    edges = ("Hullo Wren,", "From the Pier 7 crew,\nOtti", "", "not there")
    assert [claim.text for claim in claims(draft, "Say the rails are ready.", [], edges=edges)] == ["9:30"]


# a request, a draft with all of it, a draft with something else, and what of that is marked
VALUES = (
    ("it costs USD 1,200", "it costs $1,200.", "it costs €1,200.", "€1,200"),
    ("it costs 10 €", "it costs ten euros.", "it costs ten pounds.", "ten pounds"),
    ("es kostet 2 Mio. Euro", "es kostet 2.000.000 €.", "es kostet 2.000 €.", "2.000 €"),
    ("we take half of it", "we take 50% of it.", "we take a quarter of it.", "a quarter of"),
    ("we need 20 chairs", "we need twenty chairs.", "we need 20% of them.", "20%"),
    ("the pole is 2m long", "the pole is 2 metres long.", "the pole is 2 km long.", "2 km"),
    ("the flat has 60 m²", "the flat has 60 square metres.", "the flat has 60 metres.", "60 metres"),
    ("it is 20 °C", "it is 20 degrees Celsius.", "it is 20 °F.", "20 °F"),
    ("it takes two weeks", "it takes 14 days.", "it takes two months.", "two months"),
    ("the 3rd edition", "the third edition.", "the fourth edition.", "fourth"),
    ("the prize is 5000", "the prize is 5k.", "the prize is 6k.", "6k"),
    ("费用是500元", "费用是500元。", "费用是600元。", "600元"),
    ("参加費は1万円です", "参加費は10,000円です。", "参加費は2万円です。", "2万円"),
    ("on se voit à 15h", "on se voit à 15 h 00.", "on se voit à 16 heures.", "16 heures"),
    ("we meet at 3:30", "we meet at half past three.", "we meet at half past four.", "half past four"),
    ("wir treffen uns um 15:30", "treffen wir uns um halb vier.", "wir treffen uns um 16 Uhr.", "16 Uhr"),
    ("vi ses kl. 15 på torget", "vi ses klockan 15.00 på torget.", "vi ses kl. 16 på torget.", "kl. 16"),
    ("the shop closes at midnight", "the shop closes at 00:00.", "the shop closes at noon.", "noon"),
    ("the shop is open from 9 to 17", "the shop is open 9:00-17:00.", "the shop is open 8:00-17:00.", "8:00"),
    ("会议下午三点开始", "会议15:00开始。", "会议16:00开始。", "16:00"),
    ("다음 회의는 6월 12일 오후 3시", "6월 12일 15시입니다.", "6월 13일 15시입니다.", "6월 13일"),
    ("come tomorrow", "come tomorrow.", "come the day after tomorrow.", "day after tomorrow"),
    ("spotkanie jest w piątek", "spotkanie jest w piątek.", "spotkanie jest w sobotę.", "sobotę"),
    ("call 0123/456789", "call 0123 456 789.", "call 0123 456 788.", "0123 456 788"),
    ("call +44 20 7946 0000", "call (020) 7946 0000.", "call (020) 7946 0001.", "(020) 7946 0001"),
    ("napisz do Marka, że rowery są gotowe", "rowery są gotowe, Marku.", "rowery są gotowe, Janie.", "Janie"),
    ("napisz do pani Kowalskiej o rowerach", "pani Kowalska, rowery są.", "pani Nowak, rowery są.", "Nowak"),
    ("напиши Ивану, что велосипеды готовы", "велосипеды готовы, Иван.", "велосипеды готовы, Олег.", "Олег"),
    ("frag Herrn Amsel nach dem Rad", "wo ist es, Herr Amsel?", "wo ist es, Herr Drossel?", "Drossel"),
    ("佐藤さんに書いて", "佐藤様、こんにちは。", "鈴木様、こんにちは。", "鈴木"),
    ("Decline Councillor Baines politely", "Dear Councillor Baines, no.", "Dear Councillor Hobb, no.", "Hobb"),
    ("say the rails are ready", "Rails are ready.", "Priya says the rails are ready.", "Priya"),
)


@pytest.mark.parametrize(("request_text", "same", "other", "marked"), VALUES)
def test_a_value_or_a_name_in_another_form_is_the_same_and_another_is_not(request_text, same, other, marked):
    assert found(same, request_text) == []
    assert (UNSUPPORTED, marked) in found(other, request_text)


def labelled(name: str) -> list[list[str]]:
    """Return the rows of a file: language, request, draft, and what is marked in it."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [line.replace(" // ", "\n\n").replace(" / ", "\n").split("\t") for line in lines]


def test_what_is_firmer_or_less_firm_than_asked_is_found():
    """Half of the rows are clean; all were labelled before the rules were written, and half were kept aside."""
    false, missed = [], []
    for _, request, draft, *marks in labelled("strength.tsv"):
        got = [claim for claim in found(draft, request) if claim[0] in (STRONGER, WEAKER)]
        expected = [tuple(mark.split("=")) for mark in marks]
        hits = [one for one in got for kind, text in expected if one[0] == kind and (text in one[1] or one[1] in text)]
        false += [(draft, one) for one in got if one not in hits]
        missed += [draft for _ in expected if not hits]
    # this one's subject states firmly what its body hedges
    assert (false, missed) == ([], ["Cache the parsed config\n\nThis should hopefully save reading the config twice."])


SORRY = "The boat is mended. We apologise for the delay."


@pytest.mark.parametrize(
    ("draft", "request_text", "said", "samples", "claimed"),
    [
        (SORRY, "Say the boat is mended", (), [], [(STRONGER, "We apologise for the delay")]),
        (SORRY, "Say the boat is mended", ("Always apologise.",), [], []),
        ("I promise to mend it.", "Answer.", (), [], [(STRONGER, "I promise"), (COMMITMENT, "I promise to mend it")]),
        ("It will definitely rain.", "Say it will rain", (), [], [(STRONGER, "will definitely")]),
        ("It will definitely rain.", "Say it will rain", (), ["It will definitely snow."] * 2, []),  # manner
        # a message to answer hedges for its writer
        ("Come on Friday.", "Hi Ada,\n\nI might come on Friday.\n\nBo", (), [], []),
        ("Will we be late?", "Tell Nan we might be late", (), [], []),
    ],
)
def test_what_accounts_for_firm_words(draft, request_text, said, samples, claimed):
    shown = [Sample(str(number), sample) for number, sample in enumerate(samples)]
    got = [(claim.kind, claim.text) for claim in claims(draft, request_text, shown, said)]
    assert [claim for claim in got if claim[0] in (STRONGER, WEAKER, COMMITMENT)] == claimed


def test_drafts_in_fifteen_languages_have_few_false_alarms_and_what_is_planted_is_found():
    """Rows: language, request, draft, and what was planted in it; written before the rules."""
    rows = labelled("drafts.tsv")
    false = [(draft, got) for _, request, draft, *marks in rows if not marks and (got := found(draft, request))]
    missed = [
        (draft, mark)
        for _, request, draft, *marks in rows
        for mark in marks
        if not any(mark in text or text in mark for kind, text in found(draft, request) if kind == UNSUPPORTED)
    ]
    assert (len(rows), len({language for language, *_ in rows})) == (162, 15)
    assert (false, missed) == ([], [])


@pytest.mark.parametrize(
    ("draft", "request_text"),
    [
        ("See you on 4 March.", "We meet on 04.03."),
        ("See you on the fourth of March.", "We meet on 2026-03-04."),
        ("See you on March 4, 2026.", "We meet on 4/3/2026."),
        ("Bis zum 4. März!", "We meet on March 4."),
        ("À vendredi 4 mars.", "We meet on Friday, March 4."),
        ("El viernes 4 de marzo.", "We meet on Friday, 4 March."),
        ("Na sexta-feira, 4 de março.", "We meet on Friday, 4 March."),
        ("Venerdì 4 marzo.", "We meet on Friday, 4 March."),
        ("Vrijdag 4 maart.", "We meet on Friday, 4 March."),
        ("3月4日に会います。", "We meet on March 4."),
        ("It starts at 3 pm.", "It starts at 15:00."),
        ("Um 15 Uhr geht es los.", "It starts at 3 p.m."),
        ("It costs 1.000 €.", "It costs €1,000."),
        ("There are 12 chairs.", "There are twelve chairs."),
        ("There are １２ chairs.", "There are 12 chairs."),
        ("There are ١٢ chairs.", "There are 12 chairs."),
        ("There are ١٬٢٠٠ chairs.", "There are 1,200 chairs."),
        ("There are １，２００ chairs.", "There are 1,200 chairs."),
        ("１０％ are mended.", "10% are mended."),
        ("Wir beginnen um ١٠:٣٠.", "We begin at 10:30."),
        ("３月４日に会います。", "We meet on March 4."),
        ("On ２０２６-０３-０４ we meet.", "We meet on 4 March 2026."),
        ("On April 3, 2026 we meet.", "We meet on 03/04/2026."),
        ("We meet on 03/04/2026.", "On April 3, 2026 we meet."),
        ("\u2068Nan\u2069 comes at \u206610:30\u2069.", "Nan comes at 10:30."),
        ("\u200fNan\u200f comes at \u200e10:30\u200e.", "Nan comes at 10:30."),
        ("Read Chapter Ⅳ.", "Read chapter 4."),
        ("Read Chapter XIV.", "Read chapter 14."),
        ("It is 600 km away.", "It is 600km away."),
        ("Call `git gc` now.", "Tell them to call git gc now."),
        ("Mail ADA@example.org.", "Give them ada@example.org."),
        ("See https://example.org/a/.", "Link https://example.org/a"),
        ("Nan’s rails are ready.", "Nan's rails are ready."),
        ("Ask Ilse Brandt.", "See Ilse Brandt's letter."),
        ("The GSAs agree.", "Ask the GSA."),
        ('They are "odd", and a kind of "free choice".', "Say it."),
        ("The API of the CPU is slow.", "Say it."),
    ],
)
def test_the_same_fact_in_another_form_is_supported(draft, request_text):
    assert [claim for claim in found(draft, request_text) if claim[0] == UNSUPPORTED] == []


@pytest.mark.parametrize(
    ("draft", "claim"),
    [
        ("It costs ١٬٠٠٠.", "١٬٠٠٠"),  # as it is written
        ("It costs １，０００ now.", "１，０００"),
        ("On April 3 it opens.", "April 3"),
        ("It opens on 5 March.", "5 March"),
        ("It opens on Monday.", "Monday"),
        ("It opens at 9:15.", "9:15"),
        ("It costs $15.", "$15"),
        ("Write to bea@example.org.", "bea@example.org"),
        ("See www.example.org/plan.", "www.example.org/plan"),
        ("It broke in v2.4.1.", "v2.4.1"),
        ("Look at src/main.c.", "src/main.c"),
        ("It is in `make_tea`.", "`make_tea`"),
        ("Ask Ilse Brandt about it.", "Ilse Brandt"),
        ("Look at the Public Data Portal first.", "Public Data Portal"),
        ("It runs on the QTS here.", "QTS"),
        ("The EDK2 is old.", "EDK2"),
        ('See "https://example.org/blob" there.', "https://example.org/blob"),
        ('It is in "src/main.c" now.', "src/main.c"),
        ("It is Ilse's.", "Ilse"),
        ("They call it “the long wait”.", "“the long wait”"),
        ("Wir öffnen am 5. April.", "5. April"),
        ("On ouvre le 5 avril.", "5 avril"),
        ("Abrimos el 5 de abril.", "5 de abril"),
    ],
)
def test_each_kind_of_fact_is_found(draft, claim):
    assert (UNSUPPORTED, claim) in found(draft, "Say it.")


@pytest.mark.parametrize(
    "promise",
    [
        "I'll bring the rails.",
        "We will be there at the start.",
        "I'm happy to take it on.",
        "I accept.",
        "Count me in!",
        "Ich schicke dir die Liste.",
        "Je vous enverrai la liste.",
        "Te enviaré la lista.",
        "Vou mandar a lista.",
        "Ti manderò la lista.",
        "Ik stuur de lijst.",
    ],
)
def test_promises_in_seven_languages(promise):
    assert [kind for kind, _ in found(promise, "Answer.")] == [COMMITMENT]


@pytest.mark.parametrize(
    "sentence", ["You will see.", "It will rain.", "We'll see.", "I'm happy to hear that.", "She will send it."]
)
def test_what_binds_nobody_is_no_commitment(sentence):
    assert found(sentence, "Answer.") == []


@pytest.mark.parametrize(
    ("draft", "request_text", "sample", "kinds"),
    [
        ("https://example.org/a", "https://example.org/a", "", []),
        ("", "https://example.org/a", "", [DROPPED]),
        (RAILS, RAILS, f"> {RAILS}\nDone.", []),  # a sample that holds the request
        ("See you on 03/04.", "We meet on 3 April.", "", []),  # either way to read it
        ("See you on 03/04.", "We meet on March 4.", "", []),
        ("\u202eבפגישה ב-10:30\u202c", "Say when.", "", [UNSUPPORTED]),
        ("- item\n1. one\n2. two", "List them.", "", []),
        ("", "", "", []),
    ],
)
def test_odd_texts(draft, request_text, sample, kinds):
    assert [kind for kind, _ in found(draft, request_text, sample)] == kinds


PIECES = (
    *("4", " ", "March", "märz", "ſept", "of", "the fourth", "/", "-", ".", "3", "2026", "年", "月", "日", "1er"),
    *("mars", "I", "XIV", "€", "1,000", "`", '"', "“", "#", "--", "a_b", "()", "@", "http://", "am", "h"),
    *("Uhr", "\n", "É", "'", "ß", "İ", "lunes", "s", "(", ":", "O(n)", "v1.2.3", "٣", "１２", "segunda-feira"),
    *("may", "Dec", "dec."),
)


def test_any_text_can_be_read():
    chance = Random(0)
    for _ in range(3_000):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 12)))
        found(text, text[::-1], text[1:])


REPEATED = (
    *("a.", "a/", "a-", "a_", ".", "/", "ſ", "A ", '"', "1,", "1'", "1:", "the fourth ", "I will ", "0 ", "five "),
    *("half past ", "十", "12 ", "Mr. ", "and ", "\n ", ".'", "A ’"),
)


@pytest.mark.parametrize("piece", REPEATED)
def test_claims_take_linear_time(piece, grows_linearly):
    def work(text: str) -> None:
        forget_samples()
        claims(text, "Say it.", [Sample("a", text)])

    grows_linearly(work, piece, 8_000)


@pytest.mark.slow
def test_a_draft_of_100_000_words_is_read():
    draft = "The rails of room 12 will be ready, and Ilse has the key to it. " * 7_150
    assert len(draft.split()) > 100_000
    assert {text for _, text in found(draft, RAILS, COATS.text)} >= {"12", "Ilse"}
