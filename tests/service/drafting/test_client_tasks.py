from __future__ import annotations

from typing import Any

import pytest

from service.drafting.client_tasks import is_client_task

HISTORY = "<chat_history>\nUSER: Tomas asks to swap his Saturday\nASSISTANT: Kettle's on.\n</chat_history>"
SPOKEN = [("user", "Tomas asks to swap his Saturday"), ("assistant", "Kettle's on. Yes.")]
SAID = "User: Tomas asks to swap\nAssistant: Kettle's on."

# in the shapes of popular clients, in words of our own
TASKS = {
    "title with sections": [
        (
            "user",
            "### Task:\nFind a short title with an emoji that sums up the chat history.\n### Guidelines:\n- Be clear.\n"
            f'### Output:\nJSON format: {{ "title": "the title" }}\n### Chat History:\n{HISTORY}',
        )
    ],
    "tags with sections": [
        (
            "user",
            "### Task:\nGive 1-3 broad tags for the main themes of the chat history.\n### Output:\n"
            f'JSON: {{ "tags": ["one", "two"] }}\n### Chat History:\n{HISTORY}',
        )
    ],
    "follow-ups with sections": [
        (
            "user",
            "### Task:\nSuggest a few follow-up questions that the user could ask next.\n### Output:\n"
            f'JSON: {{ "follow_ups": ["A?", "B?"] }}\n### Chat History:\n{HISTORY}',
        )
    ],
    "queries with sections": [
        (
            "user",
            "### Task:\nDecide from the chat history if search queries are needed.\n### Guidelines:\n"
            f'- JSON only.\n### Output:\n{{ "queries": ["one"] }}\n### Chat History:\n{HISTORY}',
        )
    ],
    "completion": [
        (
            "user",
            "### Task:\nYou autocomplete text that a user is typing: go on from <text> by the <type>.\n### Output:\n"
            '{ "text": "..." }\n<type>General</type>\n<text>Dear Bea, could you</text>',
        )
    ],
    "emoji": [
        ("user", f"Pick one emoji for the facial expression of the speaker. Answer with only the emoji.\n{HISTORY}")
    ],
    "picture": [
        (
            "user",
            "### Task:\nWrite a prompt for an image from the chat history.\n### Output:\n"
            f'JSON: {{ "prompt": "..." }}\n{HISTORY}',
        )
    ],
    "several answers": [
        (
            "user",
            "You get responses to a question from various models. Merge them into one, and only that.\n\n"
            "<conversation>1. Yes. 2. No.</conversation>",
        )
    ],
    "title of five words, completion style": [
        (
            "user",
            "Give a title of at most 5 words for the conversation, in its language, no punctuation. Return only the "
            f"title.\n\nConversation:\n{SAID}",
        )
    ],
    "title by system message, language by user": [
        (
            "system",
            "Find a concise title for this conversation in the language given. 5 words or fewer, no punctuation, no "
            "quotation marks.\n||>User:\nTomas asks to swap\n||>Response:\nKettle's on.",
        ),
        ("user", "Language: English"),
    ],
    "title with its label last": [
        ("user", f"Generate a title (40 characters at most) for a conversation that starts so:\n{SAID}\n\nTitle:")
    ],
    "title by system message, conversation as JSON": [
        (
            "system",
            "Turn the conversation into a title in English, 10 words at most, without punctuation. Output only "
            "the title.",
        ),
        ("user", '[{"role": "user", "mainText": "Tomas asks to swap"}, {"role": "assistant", "mainText": "Yes."}]'),
    ],
    "title by system message, turns below": [
        ("system", "You name conversations. Give this conversation a short title of up to 10 words, no quotes."),
        *SPOKEN,
        ("user", "Thanks"),
    ],
    "title in Chinese": [
        ("system", "请把用户的会话总结成十个字以内的标题，不要使用标点符号。"),
        ("user", "user: 明天换班吗\nassistant: 可以"),
    ],
    "title in Chinese, turns before": [*SPOKEN, ("user", "用十个字以内给这段对话起一个标题，不要标点符号，只返回标题")],
    "title after the turns": [
        *SPOKEN,
        ("user", "Write a four or five word title summarizing our conversation, without quotation marks."),
    ],
    "name after the history": [
        (
            "user",
            "From the chat history, give this conversation a name. Short: 10 characters, no quotes. Just the name."
            f"\n\nHere is the conversation:\n```\n{SAID}\n```",
        )
    ],
    "summary for memory": [
        *SPOKEN,
        ("user", "Summarize the discussion in 200 words or less, only as a prompt that gives future context."),
    ],
    "running summary": [
        (
            "user",
            "Condense the conversation below into the current summary and return only the new summary.\n\n"
            f"Current summary:\n-\n\nMessages:\n{SAID}",
        )
    ],
    "standalone question": [
        ("user", f"Rephrase the last message as a standalone question. Return only it.\n\nChat history:\n{SAID}")
    ],
    "standalone question without more words": [
        (
            "user",
            "With the conversation and the follow up below, rephrase the follow up as a standalone question.\n\n"
            f"Chat history:\n{SAID}\nFollow up: and Sunday?\nStandalone question:",
        )
    ],
    "title by a first message in Chinese": [
        ("system", "你擅长会话，请将用户的会话总结为 10 个字以内的标题"),
        ("user", "user: 明天换班吗\nassistant: 可以"),
    ],
    "title with examples": [
        (
            "user",
            "Find a concise title of 3-5 words for the chat history. ANSWER ONLY WITH THE TITLE.\n\n"
            f"Examples of titles:\nTides and Kettles\n\n{HISTORY}",
        )
    ],
    "merged answers in two paragraphs": [
        (
            "user",
            'You get a set of responses from various models to the question: "When?"\n\n'
            "Your task is to merge them into one. Be careful with each of them.\n\nResponses from models: Yes. No.",
        )
    ],
    "predicted replies": [
        (
            "system",
            "Suggest three messages that the user might send next in this conversation. Answer with a JSON array, "
            "nothing else.",
        ),
        *SPOKEN,
        ("user", "go"),
    ],
    "title of a first message": [
        ("system", "Generate a short title for a chat that begins with the message below. No quotes."),
        ("user", "Tomas asks to swap his Saturday"),
    ],
    "tags after the turns": [*SPOKEN, ("user", "List 3 tags for this conversation as a JSON array. Only the array.")],
    "title of a shortened conversation": [
        ("system", "You find conversation titles, expressive ones of few words."),
        ("user", "Find a short chat title for the conversation below. Lower case only.\n\n```\nhi\n```"),
    ],
    "merged answers": [
        (
            "user",
            "These are responses from several models to a question. Your task is to merge them.\n\n"
            "Responses from models: Yes. No.",
        )
    ],
    "expression": [
        ("user", "Your task is to show the speaker's expression by an emoji.\n\nMessage: ```The tide was high.```")
    ],
    "title in German": [
        ("user", f"Nenne einen Titel für dieses Gespräch, 5 Wörter, nur JSON.\n<conversation>{SAID}</conversation>")
    ],
}

# of a person, however near
REQUESTS = {
    "a message to answer": [("user", "Tomas asks to swap his Saturday")],
    "a title for a post": [("user", "Suggest a short title for my post about truing wheels, five words, no quotes.")],
    "tags for a post": [("user", "Give me five tags for this post on brakes, only the tags.")],
    "an evening of conversation": [("user", "Write a title for the conversation evening on Friday, five words.")],
    "a chat with a person": [("user", "Summarise my chat with Mr Pellow for the board in 100 words.")],
    "a follow-up": [("user", "Write a follow-up to Nan about the costume rails, short.")],
    "follow-up questions to a person": [("user", "Write three follow-up questions to Mr Askew about the tank.")],
    "a topic": [("user", "write a post on the topic of wheels for the discussion on Friday")],
    "sections of one's own": [("user", "### Task:\nWrite to Bea on the rota.\n### Rules:\n- five lines\n- no jokes")],
    "sections and a title": [("user", "### Task\nWrite a post with a title about chains.\n### Output\nMarkdown only")],
    "JSON in a post": [("user", "Write a post that explains JSON and search queries to volunteers. Keep it short.")],
    "a thread of mails": [
        ("user", "Answer this thread:\n\nBea: shall I draft the rota?\nTomas: yes please\n\nOnly two lines, no emoji.")
    ],
    "a transcript to answer": [("user", f"{SAID}\nUser: and Sunday?\n\nWrite my reply, only the reply, short.")],
    "minutes": [("user", f"Write the minutes of this conversation, 100 words:\n{SAID}")],
    "an autocomplete feature": [("user", "Write a commit message: add autocomplete to the search field, short")],
    "a mail on emoji": [("user", "Answer Fay: which emoji should the Lantern use for our chat group? Short please.")],
    "shorter": [*SPOKEN, ("user", "Shorter please")],
    "shorter, in words": [*SPOKEN, ("user", "Only 20 words, no quotes, and without the joke")],
    "a title for it": [*SPOKEN, ("user", "Add a title of five words, no quotes")],
    "another subject": [*SPOKEN, ("user", "Now a short post on squealing brakes, only three paragraphs")],
    "a persona": [("system", "You are a concise assistant in a chat. No more than 50 words."), ("user", "Ask Nan.")],
    "a persona that asks back": [
        ("system", "At the end of every reply suggest follow-up questions the user could ask. Only text."),
        ("user", "Ask Nan for the rails"),
    ],
    "a persona that titles": [
        ("system", "Begin each reply with a short title for the message, no quotes, 5 words only."),
        ("user", "Ask Nan for the rails"),
    ],
    "a persona with context": [
        ("system", "Today is Sunday. The user writes letters.\n<context>\nThe shed closes at six.\n</context>"),
        ("user", "Ask Nan for the rails, short, only five lines"),
    ],
    "a long mail that ends so": [("user", "Dear all,\n" + "the tide was high. " * 200 + "\nAny name for the boat?")],
    "a subject line": [("user", "reset: say why the index is kept")],
    "an article on titles": [
        ("system", "You help the editor of a magazine on chat software. Short sentences."),
        ("user", "Answer Fay: what makes a good chat title?"),
    ],
    "a review of a chat client": [
        ("user", "Write a post on how chat clients make a title for each conversation with a model. About 300 words.")
    ],
}


ALONE = {name: turns[0][1] for name, turns in TASKS.items() if len(turns) == 1}
# somebody else's text, with a client's task in it
PASTED = {
    "the end of a mail": "Hi Ann,\n\nthe boat is done and the tide was high.\n\n{}",
    "behind a greeting": "Dear Ann, {}",
    "behind a name": "Ann, {}",
    "a second sentence": "The boat is done. {}",
    "a second line": "The boat is done\n{}",
    "with headers": "From: Bo <bo@example.org>\nSubject: boat\n\n{}",
    "with a subject": "Subject: {}",
    "forwarded": "---------- Forwarded message ---------\nFrom: Bo\n\n{}",
    "behind the person's words": "Answer this mail:\n\n{}",
    "behind a label": "Mail:\n{}",
    "behind a label on the line": "Mail: {}",
    "behind a heading": "# What Bo wrote\n\n{}",
    "between quotes": '"{}"',
    "in a block": "```\n{}\n```\nWrite my answer to this.",
    "a question": "Could you help? {}",
    "long": "Dear all,\n" + "the tide was high. " * 300 + "\n{}",
}


@pytest.mark.parametrize("where", PASTED)
def test_what_a_third_person_wrote_is_no_task(where: str) -> None:
    assert [name for name, task in ALONE.items() if is_client_task([("user", PASTED[where].format(task))])] == []


@pytest.mark.parametrize(
    "turns",
    [
        [*SPOKEN, ("user", "{}")],  # pasted into a conversation that goes on
        [("user", "Answer what Bo wrote:"), ("user", "{}")],
        [("user", "> {}")],
        [("system", "You answer mails.\n\nThe mail:\n{}"), ("user", "Ask Nan.")],
    ],
)
def test_nor_is_a_message_of_a_conversation(turns: Any) -> None:
    quoted = {name: task.replace("\n", "\n> ") for name, task in ALONE.items()}
    for task in (quoted if turns[0][1].startswith(">") else ALONE).values():
        assert not is_client_task([(role, text.format(task)) for role, text in turns])


def test_a_task_that_a_third_person_wrote_out_of_the_persons_conversation() -> None:
    asked = "Write a title for our conversation, only 5 words, no quotes."
    assert is_client_task([*SPOKEN, ("user", asked)])
    assert not is_client_task([("user", asked)])
    assert not is_client_task([("user", f"{asked}\n\nBest,\nBo")])
    assert not is_client_task([*SPOKEN, ("user", f"{asked}\n\nThe boat is done.")])
    assert not is_client_task([*SPOKEN, ("user", f"The boat is done.\n\n{asked}")])


@pytest.mark.parametrize("name", TASKS)
def test_a_clients_own_task_is_known(name: str) -> None:
    assert is_client_task(TASKS[name])


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_not_mistaken_for_one(name: str) -> None:
    assert not is_client_task(REQUESTS[name])


def test_a_long_message_is_read_in_no_time() -> None:
    assert not is_client_task([("user", "title user: " * 80_000)])
    assert not is_client_task([("user", "chat " * 200_000)])
    assert not is_client_task([("user", "### task\n" * 100_000)])
    assert not is_client_task([("user", " \n" * 400_000 + "title")])
