"""What page.js computes by itself, in Node where it is there: no document, and a service that answers by table."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from service.http.web.page import FOLDER

NODE = shutil.which("node")
# everything that the script asks of a browser is one thing that answers to anything
RUN = """
const stub = new Proxy(function () {}, {
  get: (target, name) => (name === Symbol.iterator ? function* () {} : name === Symbol.toPrimitive ? () => "" : stub),
  apply: () => stub, construct: () => stub, set: () => true,
});
const [script, test] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = [];
const fetch = async (path, options) => ({ ok: true, json: async () => answers.shift()(JSON.parse(options.body)) });
const world = { document: stub, location: stub, addEventListener: () => {}, fetch, answers, stub };
const run = new Function(...Object.keys(world), `${script}; return (async () => { ${test} })();`);
run(...Object.values(world)).then((found) => console.log(JSON.stringify(found)));
"""


def in_node(test: str) -> Any:
    if NODE is None:
        pytest.skip("no Node on this machine")
    script = (FOLDER / "assets" / "page.js").read_text(encoding="utf-8").replace('"use strict";', "", 1)
    done = subprocess.run(
        [NODE, "-e", RUN], input=json.dumps([script, test]), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_repair_is_asked_in_code_points_and_moves_what_is_behind_it() -> None:
    sent, text, claims, earlier = in_node("""
        now.draft = { id: "d", text: "🦀 Yes, at 7. Bring 🦀 rope. Otti", retrieval: { documents: [] } };
        now.text = now.draft.text;
        const claim = (text) => ({ kind: "unsupported", text, start: now.text.indexOf(text),
          end: now.text.indexOf(text) + text.length, state: "open" });
        now.claims = [claim("7"), claim("🦀 rope"), claim("at 7"), claim("Otti")];
        let sent;
        answers.push((body) => { sent = body; return { start: 2, end: 13, by: "" }; });
        answers.push(() => ({ start: 24, end: 29, by: "" })); // of the text as it no longer is
        answers.push((body) => ({ start: body.start - 1, end: body.end, by: "" }));
        await Promise.all([settle(0, "struck"), settle(3, "struck")]);
        const claims = now.claims.map(({ state, start, end }) => [state, now.text.slice(start, end)]);
        return [sent, now.text, claims, now.earlier.length];
    """)
    assert (sent["words"], sent["start"], sent["end"], sent["draft_id"]) == ("7", 10, 11, "d")
    assert (text, earlier) == ("🦀 Bring 🦀 rope.", 2)
    assert claims[1] == ["open", "🦀 rope"]
    assert [state for state, _ in claims] == ["struck", "open", "struck", "struck"]


@pytest.mark.parametrize(
    ("change", "text", "state", "claim"),
    [
        ("0, 15, 'B'", "Bea takes it.", "open", "Bea takes"),  # its first letter became a capital
        ("17, 17, ' Rook'", "Pim pays, and bea Rook takes it.", "open", "bea Rook takes"),
        ("14, 18, ''", "Pim pays, and takes it.", "struck", None),
        ("24, 26, 'that'", "Pim pays, and bea takes that.", "open", "bea takes"),
    ],
)
def test_a_claim_moves_with_its_words(change: str, text: str, state: str, claim: str | None) -> None:
    now, (found,) = in_node(f"""
        now.text = "Pim pays, and bea takes it.";
        now.claims = [{{ kind: "unsupported", text: "bea takes", start: 14, end: 23, state: "open" }}];
        replace({change});
        return [now.text, now.claims.map(({{ state, start, end }}) => [state, now.text.slice(start, end)])];
    """)
    assert (now, found[0]) == (text, state)
    assert claim in (None, found[1])


@pytest.mark.parametrize(
    ("part", "said"),
    [(1, "more than 99 %"), (0.9904, "more than 99 %"), (0.99, "99 %"), (0.5, "50 %"), (0, "less than 1 %")],
)
def test_nothing_measured_is_sure(part: float, said: str) -> None:
    assert in_node(f"return percent({part});") == said
