// Likeness: how much a text sounds like the person; and a blind test of drafts against their own texts.

// ---- a text

function verdict(answer) {
  const { texts, words } = answer.history;
  return {
    yours: "It sounds like you.",
    unclear: "It may be yours or not.",
    unlike: "It does not sound like you.",
    too_short: `It is too short to say: it has ${count(answer.words, "word")}, and 30 are needed.`,
    history_too_small: `Your history is too small to say: it has ${count(texts, "text")} with ${count(words, "word")}, and 5 with 300 are needed.`,
    other_language: `It is in a language that the people you are compared with (${answer.impostors}) do not write.`,
  }[answer.verdict];
}

function showLikeness(answer) {
  const { texts, words } = answer.history;
  const said = [make("p", {}, make("b", {}, verdict(answer)))];
  if (answer.probability !== null) {
    said.push(make("p", {}, `The chance that you wrote it is ${percent(answer.probability)}, if beforehand you and somebody else were equally likely.`));
    said.push(make("p", { class: "hint" }, `Its ${count(answer.words, "word")} beside ${count(texts, "text")} of yours (${count(words, "word")}) `
      + `and those of other people (${answer.impostors}).`));
  }
  if (answer.note) said.push(make("p", { class: "hint" }, answer.note));
  $("likeness-said").replaceChildren(...said);
  $("likeness-said").hidden = false;
}

$("likeness-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  attempt(event.submitter, async () => {
    $("likeness-said").hidden = true;
    const body = { text: form.get("text"), voice: form.get("voice") || null };
    showLikeness(await (await call("POST", "v1/likeness", body)).json());
  });
});

// ---- the blind test

const PAIRS = 10;
const LIKELY = 0.05; // a score that guessing reaches more often than this may be chance
const blind = { pairs: [], coming: null, control: null }; // {request, text, draft, ownFirst, right}; the promise of the next one

/** Have the next pair made, while the person reads the one before. */
function makePair() {
  const body = { seen: blind.pairs.map((pair) => pair.document), voice: $("blind-voice").value || null };
  blind.control = new AbortController();
  blind.coming = call("POST", "v1/blind-pairs", body, blind.control.signal).then(async (answer) => ({
    ...(await answer.json()),
    ownFirst: crypto.getRandomValues(new Uint8Array(1))[0] < 128,
  }));
  blind.coming.catch(() => {}); // it is said when the person comes to it
}

async function nextPair() {
  const number = blind.pairs.length + 1;
  $("blind").replaceChildren();
  startWith("");
  $("blind-end").hidden = false;
  say(`Writing the draft of pair ${number}…`);
  if (!blind.coming) makePair();
  const coming = blind.coming;
  let pair;
  try {
    pair = await coming;
  } catch (error) {
    if (blind.coming === coming) {
      blind.coming = null;
      startWith("Go on");
      say("");
    }
    throw error;
  }
  if (blind.coming !== coming) return; // the test was ended meanwhile
  blind.coming = null;
  blind.pairs.push(pair);
  if (number < PAIRS && pair.left) makePair();
  showPair(pair, number, Math.min(PAIRS, number + pair.left));
}

/** Show the button that begins or goes on, or without a word hide it. */
function startWith(word) {
  const button = $("blind-start").querySelector("button");
  button.hidden = !word;
  button.textContent = word;
  $("blind-voice").disabled = !word;
}

function showPair(pair, number, of) {
  const title = make("h3", { tabindex: "-1" }, `Pair ${number} of ${of}`);
  const texts = pair.ownFirst ? [pair.text, pair.draft] : [pair.draft, pair.text];
  const choose = (index) => (event) => {
    pair.right = (index === 0) === pair.ownFirst;
    if (number === of) showScore();
    else attempt(event.target, nextPair);
  };
  $("blind").replaceChildren(title, make("p", { class: "asked", dir: "auto" }, pair.request),
    make("div", { class: "variants" }, ...texts.map((text, index) =>
      make("article", { "aria-label": `Text ${index + 1}` }, make("p", { class: "text", dir: "auto" }, text),
        make("button", { "aria-label": `Text ${index + 1} is mine`, onclick: choose(index) }, "This is mine")))));
  say("");
  title.focus();
}

/** The probability that guessing gives `right` or more of so many. */
function byGuessing(right, of) {
  let [sum, ways] = [0, 1]; // ways to choose `index` of them
  for (let index = 0; index <= of; index++) {
    if (index >= right) sum += ways;
    ways = (ways * (of - index)) / (index + 1);
  }
  return sum / 2 ** of;
}

function meaning(right, of) {
  const often = byGuessing(right, of);
  const shown = often < 0.01 ? "fewer than 1 % of tests" : `${Math.round(often * 100)} % of tests`;
  const guessed = `Guessing gives ${of / 2} of ${of} on average, and ${right === of ? "all of them" : `${right} or more`} in ${shown}. `;
  if (often <= LIKELY) return `${guessed}So you can tell the drafts from your own texts.`;
  if (byGuessing(of - right, of) <= LIKELY) return `${guessed}So you took the drafts for your own more often than chance.`;
  return `${guessed}So this may be chance: it does not show that you can tell them apart.`;
}

function showScore() {
  const done = blind.pairs.filter((pair) => pair.right !== undefined);
  const right = done.filter((pair) => pair.right).length;
  blind.control?.abort();
  Object.assign(blind, { pairs: [], coming: null });
  startWith("Begin again");
  $("blind-end").hidden = true;
  if (!done.length) return $("blind").replaceChildren();
  const title = make("h3", { tabindex: "-1" }, `You were right ${right} of ${count(done.length, "time")}`);
  $("blind").replaceChildren(title, make("p", {}, meaning(right, done.length)),
    make("ol", { class: "texts" }, ...done.map((pair) => make("li", {}, make("p", { class: "hint" }, pair.right ? "Right" : "You took the draft for yours"),
      make("p", { class: "asked", dir: "auto" }, pair.request),
      make("p", { class: "hint" }, "Yours"), make("p", { class: "text", dir: "auto" }, pair.text),
      make("p", { class: "hint" }, "The draft"), make("p", { class: "text", dir: "auto" }, pair.draft)))));
  title.focus();
}

$("blind-start").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(event.submitter, nextPair);
});
$("blind-end").addEventListener("click", showScore);
