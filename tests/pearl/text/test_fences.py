from __future__ import annotations

import re
import time
import unicodedata

import pytest

from pearl.text.fences import BRACKETS, COMPATIBLE, SEEN, Marks, without_role_tokens

MARKS = Marks(("document", "draft", "text_1"))

CLOSING = [
    "</document>",
    "</DOCUMENT>",
    "</Draft >",
    "</ document>",
    "< /document>",
    "< / document >",
    "<\n/document\n>",
    "</\tdocument",
    "</d o c u m e n t>",
    "<//document>",
    "<\\/document>",
    "＜/document＞",
    "﹤／document﹥",
    "‹/document›",
    "«/document»",
    "⟨/document⟩",
    "<∕document>",
    "<⁄document>",
    "</dосument>",
    "</dοcument>",
    "</dócument>",
    "</d0cument>",
    "</ᴅᴏᴄᴜᴍᴇɴᴛ>",
    "</𝐝𝐨𝐜𝐮𝐦𝐞𝐧𝐭>",
    "</ｄｏｃｕｍｅｎｔ>",
    "</ⓓⓞⓒⓤⓜⓔⓝⓣ>",
    "</🅳🅾🅲🆄🅼🅴🅽🆃>",
    "</🅓🅡🅐🅕🅣>",
    "</đøčųɱęŋŧ>",
    "</ɗɍåƒŧ>",
    "</ꓓꓳꓚꓴꓟꓰꓠꓔ>",
    "</ᎠocumᎬnt>",
    "</docu\u200bment>",
    "<\u2060/document>",
    "</d\u00ado\u200dc\ufeffument>",
    "</\u3164document>",
    "</\u2800draft>",
    "</docume\u0301nt>",
    "<\u0338/document>",
    "</dr𝖆ft>",
    "</text_1>",
    "</TEXT_¹>",
]
OPENING = ["<document>", "<DOCUMENT id=1>", "<dоcument>", "＜draft＞", "<do\u200bcument>"]
TOKENS = [
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|fim_prefix|>"),  # ChatML, Qwen
    *("<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[TOOL_CALLS]", "[SYSTEM_PROMPT]", "[/THINK]"),
    *("<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>", "<|python_tag|>", "<|reserved_special_token_0|>"),
    *("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<|turn>", "<turn|>"),  # Gemma
    *("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),  # Phi, Zephyr
    *("<｜User｜>", "<｜Assistant｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<think>", "</think>"),
    *("<|channel|>", "<|message|>", "<|START_OF_TURN_TOKEN|>", "<EOS_TOKEN>", "[|user|]", "[|endofturn|]", "[gMASK]"),
    *("＜|im_start|＞", "<|im_\u200bstart|>", "［INST］", "<unk>", "<pad>", "<extra_id_0>", "<tool_call>"),
]  # fmt: skip


@pytest.mark.parametrize("mark", CLOSING)
def test_what_looks_like_a_closing_mark_looks_like_none(mark):
    broken = MARKS.broken(f"Dear Bo {mark} and on")
    assert mark not in broken
    assert broken == f"Dear Bo {mark[0]}_ {mark[1:]} and on"
    assert MARKS.broken(broken) == broken


@pytest.mark.parametrize("mark", OPENING)
def test_an_opening_mark_is_taken_apart(mark):
    broken = MARKS.broken(f"a{mark}b")
    assert broken == f"a{mark[0]} {mark[1:]}b"
    assert MARKS.broken(broken) == broken


@pytest.mark.parametrize("token", TOKENS)
def test_a_role_token_is_taken_apart(token):
    for text in (f"Dear Bo,{token}\nsystem", token, f"<{token}", f"{token}>"):
        broken = without_role_tokens(text)
        visible = re.sub("\u200b", "", unicodedata.normalize("NFKC", broken))
        assert token not in broken
        assert unicodedata.normalize("NFKC", token).replace("\u200b", "") not in visible
        assert broken.replace(" ", "") == text.replace(" ", "")
        assert without_role_tokens(broken) == broken
    assert token not in MARKS.broken(token)


@pytest.mark.parametrize(
    "text",
    [
        "if a < b and <b>bold</b>, <documentation> or </documents>",
        "« document », ‹ draft › and 〈draft〉",
        "x = n <draft_of(1)",
        "List<S> and Vec<u8>, a |> b <| c, p <|> q",
        "[WIP] [PATCH 2/3] [ ] [x] [skip ci] [1]",
        "git add <file|folder> <your_name>",
        "Zażółć gęślą jaźń, Ἀθῆναι, документ, 文書 </文書>",
    ],
)
def test_other_text_stays_as_it_is(text):
    assert MARKS.broken(text) == text


@pytest.mark.parametrize("folded", [SEEN, COMPATIBLE])
def test_a_bracket_folds_to_one_bracket_and_nothing_else_does(folded):
    for code in range(0x10000):
        assert len(BRACKETS.findall(folded[code])) == len(BRACKETS.findall(chr(code))), hex(code)


@pytest.mark.parametrize("piece", ["<", "</ ", "</document>", "<|", "<|a", "</d ", "e\u0301\u200b", "[", "<\u3000"])
def test_the_time_is_linear(piece):
    def seconds(size: int) -> float:
        text, began = piece * (size // len(piece)), time.process_time()
        MARKS.broken(text)
        return time.process_time() - began

    seconds(1000)
    assert seconds(400_000) < 8 * max(seconds(100_000), 0.01)
