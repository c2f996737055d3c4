from __future__ import annotations

import random

import pytest

from pearl.text.answers.assistant import AssistantFilter, answers_as_assistant
from tests.pieces import split

AS_ASSISTANT = (
    "I'm sorry, but I can't assist with that request.",
    "I am sorry, but I don't have any information about the ferry.",
    "Sorry, as an AI language model I have no letters.",
    "Dear Bo,\n\nI’m sorry, but I don’t understand the request.",
    "How can I help you today?",
    "Dear [Author's Name],\n\nI hope this finds you well.",
    "Could you please provide more context?",
    "Es tut mir leid, aber dabei kann ich dir nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Lo siento, pero no puedo ayudar con eso.",
    "Mi dispiace, ma non posso aiutarti.",
    "Desculpe, mas não posso ajudar com isso.",
    "很抱歉，我无法协助您完成这个请求。",
    "申し訳ありませんが、その依頼には対応できません。",
)
AS_A_PERSON = (
    "I'm sorry, but I can't make it on Friday.",
    "Sorry, I don't understand this argument.",
    "I cannot help thinking that the tide was early.",
    "Could you please provide the keys by Friday?",
    "Sorry for the late reply.",
    "Es tut mir leid, aber ich kann am Freitag nicht kommen.",
    "Je suis désolée, mais je ne peux pas venir.",
    "Lo siento, no puedo ir.",
    "抱歉，我明天不能来。",
    "",
)


@pytest.mark.parametrize("text", [*AS_ASSISTANT, *AS_A_PERSON])
def test_an_assistants_answer_is_told_from_a_persons_text_however_it_comes(text):
    found = text in AS_ASSISTANT
    assert answers_as_assistant(text) == found
    chance = random.Random(text)
    for pieces in ([text], list(text), *(split(text, chance) for _ in range(20))):
        filtered = AssistantFilter()
        given = "".join(map(filtered.feed, pieces)) + filtered.finish()
        assert (given, filtered.found) == ("" if found else text, found)


def test_only_what_may_be_an_assistants_answer_is_held_back():
    filtered = AssistantFilter()
    assert filtered.feed("I'm sorry, but I can't") == ""
    assert filtered.feed(" make") == "I'm sorry, but I can't make"
    assert filtered.feed(" it") == " it"
