"""A voice in the weights: low-rank adapters of the embedded model beside texts in its prompt, by their drafts.

    python docs/experiments/tuned.py DATA WORK [MODEL]     writes docs/results/tuned.json

For each person of ``shown.py``'s kinds chat and AESLC, and for the sample user, an adapter is trained on the texts
before those that are drafted again: request to text, in the chat form of the model's own file, stopped by the loss on
the latest tenth. An arm is "texts" (what ships), "adapter" (a prompt of the request alone), or "both" (and the best text).
Adapters and drafts are kept in WORK. The rule, written before any draft was made: an adapter ships if its likeness is
higher than what ships in nine of ten resamples of users, its mean of ROUGE-1 and ROUGE-L not lower by more than .01,
and it has not more facts a draft that the request does not have.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import shown
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from pearl.cli.options import write_json
from pearl.models.chat import llama_cpp
from pearl.models.chat.base import Decoding, Message, complete
from pearl.models.chat.gguf_chat import GgufChatModel
from pearl.records import Document
from pearl.settings import EMBEDDED, load_settings
from pearl.stats.bootstrap import Bootstrap
from pearl.style.claims.claims import Sample, claims
from service.services import Services

OUT = Path(__file__).parents[1] / "results" / "tuned.json"
MODEL = "Qwen2.5-Coder-0.5B-Instruct"
USERS, TARGETS, TEXTS, TOKENS = 6, 3, 40, 320
RANK, RATE, EPOCHS, TOGETHER = 16, 2e-4, 4, 4
LOSSES = {"before": lambda losses: losses[0], "after": min}
NAMES = {"self_attn.": "attn_", "mlp.": "ffn_", "_proj": "", "attn_o": "attn_output"}  # of weights, in a GGUF file


def people(data: Path) -> Iterator[tuple[str, str, str, Sequence[Document], Sequence[Document]]]:
    """Yield kind, template, name, the texts to learn from and the latest, to draft again: of each kind in turn."""
    shown.USERS = USERS
    found: dict[str, list[shown.Case]] = {kind: [] for kind in ("letters", "aeslc", "chat")}
    for case in chain(shown.cases(data, False), shown.cases(data, True)):
        if len(found.get(case[0], range(USERS))) < USERS and case[2] not in {each[2] for each in found[case[0]]}:
            found[case[0]].append(case)
    for kind, template, name, texts, _ in filter(None, chain(*zip_longest(*found.values()))):
        asked = [text for text in texts if shown.wordy(text.request, 3, 100) and shown.wordy(text.text, 15, 180)]
        yield kind, template, name, asked[: -2 * TARGETS][-TEXTS:], asked[-2 * TARGETS :: 2]


def tune(path: Path, texts: Sequence[Document], adapter: Path) -> dict[str, Any]:
    """Train an adapter and write it for llama.cpp; return the losses, nats a token, and the seconds."""
    began, place = time.monotonic(), {"gguf_file": path.name}
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, **place)
    base = AutoModelForCausalLM.from_pretrained(path.parent, dtype=torch.float32, **place)
    model = get_peft_model(base, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear"))
    rows = [encoded(tokenizer, text) for text in texts]
    latest = max(3, len(rows) // 10)
    learnt, held = rows[:-latest], rows[-latest:]
    optimizer = torch.optim.AdamW([part for part in model.parameters() if part.requires_grad], RATE)
    losses, best = [loss_of(model, held)], {}
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(len(learnt))
        for step, index in enumerate(order, start=1):
            model(**learnt[index]).loss.backward()
            if step % TOGETHER == 0 or step == len(order):
                optimizer.step()
                optimizer.zero_grad()
        losses.append(loss_of(model, held))
        if losses[-1] > min(losses):
            break
        best = {name: part.detach().clone() for name, part in model.named_parameters() if part.requires_grad}
    write_adapter(best, adapter)
    return {"losses": losses, "texts": len(texts), "seconds": time.monotonic() - began}


def encoded(tokenizer: Any, text: Document) -> dict[str, torch.Tensor]:
    asked = [{"role": "user", "content": text.request}]
    prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
    answer = [*tokenizer(text.text)["input_ids"], tokenizer.eos_token_id][: TOKENS - len(prompt)]
    labels = [-100] * len(prompt) + answer
    return {"input_ids": torch.tensor([[*prompt, *answer]]), "labels": torch.tensor([labels])}


@torch.no_grad()
def loss_of(model: Any, rows: Sequence[dict[str, torch.Tensor]]) -> float:
    counts = [int((row["labels"] >= 0).sum()) for row in rows]
    return float(np.average([float(model(**row).loss) for row in rows], weights=counts))


def write_adapter(parts: dict[str, torch.Tensor], path: Path) -> None:
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 2 * RANK)
    for name, part in parts.items():
        _, _, place = name.partition("layers.")
        number, _, rest = place.partition(".")
        weight, _, side = rest.partition(".lora_")
        for of_transformers, of_gguf in NAMES.items():
            weight = weight.replace(of_transformers, of_gguf)
        writer.add_tensor(f"blk.{number}.{weight}.weight.lora_{side[0].lower()}", part.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def loaded(path: Path, adapter: Path) -> GgufChatModel:
    """The model with an adapter; the library is told of it where the service makes its choices."""
    library = llama_cpp.load_library()
    plain, info = library.CommonParams, library.CommonAdapterLoraInfo()
    info.path, info.scale = str(adapter), 1.0

    def params() -> Any:
        made = plain()
        made.lora_adapters = [info]
        return made

    library.CommonParams = params
    model = GgufChatModel(path)
    model.load()
    library.CommonParams = plain
    return model


async def person(services: Services, path: Path, adapters: Path, whose: Any) -> list[dict[str, Any]]:
    kind, template, name, texts, targets = whose
    adapter, kept = adapters / f"{name}.gguf", adapters / f"{name}.json"
    if not kept.exists():
        kept.write_text(json.dumps(tune(path, texts, adapter)))
    tuned, rows = loaded(path, adapter), []
    said = [Sample(text.id, text.text) for text in texts]
    user = shown.fill(services, (kind, template, name, [*texts, *targets], targets[-1]))
    likeness = services.drafter._likenesses_of(user, kind)
    for target in targets:
        case = (kind, template, name, [*texts, *targets], target)
        began = time.monotonic()
        ships = await shown.draft(services, user, case, "1e")
        ranked = [text for found in services.drafter.best for text in texts if text.text == found]
        drafts = {"texts": (ships["text"], ships["read"], time.monotonic() - began)}
        for arm, before in (("adapter", ()), ("both", ranked[:1])):
            turns = [turn for text in before for turn in (("user", text.request), ("assistant", text.text))]
            messages = [Message(role, words) for role, words in (*turns, ("user", target.request))]
            began = time.monotonic()
            reply = await complete(tuned, messages, Decoding(max_tokens=256))
            drafts[arm] = (reply.text.strip(), reply.usage.prompt_tokens, time.monotonic() - began)
        for arm, (text, read, seconds) in drafts.items():
            (likely,) = likeness([text])
            made = shown.drafter.Variant(text, claims=tuple(claims(text, target.request, said)), likeness=likely)
            row = shown.compared(made, case, [each.text for each in texts])
            row["rouge"] = (row["rouge1"] + row["rougeL"]) / 2
            rows.append(row | {"arm": arm, "text": text, "read": read, "seconds": seconds})
    return rows


async def run(data: Path, work: Path, model: str) -> list[dict[str, Any]]:
    adapters = work / f"tuned-{model}"
    adapters.mkdir(parents=True, exist_ok=True)
    services = Services(load_settings(home=work, llm=EMBEDDED, llm_model=model, likeness=True, first_word_s=0))
    services.database.migrate()
    services.drafter.__class__ = shown.Measured
    rows = []
    for whose in people(data):
        drafts = adapters / f"{whose[2]}-drafts.json"
        if not drafts.exists():
            made = await person(services, work / "models" / f"{model}.gguf", adapters, whose)
            drafts.write_text(json.dumps(made))
        rows += json.loads(drafts.read_text())
    await services.stop()
    return rows


def main() -> None:
    data, work, *names = sys.argv[1:]
    model = names[0] if names else MODEL
    rows = asyncio.run(run(Path(data), Path(work), model))
    arms = {arm: [row for row in rows if row["arm"] == arm] for arm in ("texts", "adapter", "both")}
    bootstrap = Bootstrap([row["user"] for row in arms["texts"]])
    names = ("rouge", "likeness", "copied", *shown.CLAIMS, "read", "seconds")
    means = {
        arm: {name: bootstrap.mean([shown.value(row, name) for row in of]) for name in names}
        for arm, of in arms.items()
    }
    trained = [json.loads(file.read_text()) for file in (Path(work) / f"tuned-{model}").glob("*[!s].json")]
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    found[model] = {
        "command": "python docs/experiments/tuned.py DATA WORK MODEL",
        "requests": len(arms["texts"]),
        "users": len({row["user"] for row in rows}),
        "loss": {name: float(np.mean([choose(each["losses"]) for each in trained])) for name, choose in LOSSES.items()},
        "training_seconds": float(np.mean([each["seconds"] for each in trained])),
        "arms": {arm: {name: mean.to_json() for name, mean in row.items()} for arm, row in means.items()},
        "less_texts": {
            arm: {name: (mean - means["texts"][name]).to_json() for name, mean in row.items()}
            for arm, row in means.items()
            if arm != "texts"
        },
    }
    write_json(str(OUT), found)


if __name__ == "__main__":
    main()
