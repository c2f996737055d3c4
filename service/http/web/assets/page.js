// The page of PEARL: it calls the API as any program does. Texts reach the document as text alone, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const TOKEN = document.querySelector("meta[name=pearl-token]").content;

/** Make an element; strings among the children become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function say(message) {
  $("status").textContent = message;
}

function fail(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
  if (message) $("problem").scrollIntoView({ block: "nearest" });
}

// ---- the API

async function call(method, path, body, signal) {
  const headers = { "X-Pearl-Page": TOKEN };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is it running? What you wrote is still here.");
  }
  if (answer.ok) return answer;
  throw refused(answer.status, await answer.json().catch(() => null));
}

/** The error for an answer that is no success. */
function refused(status, known) {
  if (status === 401 && !$("ended").open) $("ended").showModal();
  const code = known?.error?.code;
  const message = code === "not_from_the_page"
    ? "Somebody else has signed in here since. Keep what you need, then load the page again."
    : known?.error?.message ?? `The service answered ${status}.`;
  return Object.assign(new Error(message), { code });
}

const get = async (path) => (await call("GET", path)).json();
const address = (path, query) => {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
};

const BROKEN = "The service stopped before the draft was written; write it again.";

/** Yield [name, data] of each server-sent event. */
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new Error(BROKEN);
    });
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => [line.split(": ", 1)[0], line.slice(line.indexOf(": ") + 2)]));
      if (fields.event) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}

/** Do something that a button asks for; say what fails. */
async function attempt(button, work) {
  fail("");
  if (button) button.disabled = true;
  try {
    await work();
  } catch (error) {
    if (error.name !== "AbortError") fail(error.message);
  } finally {
    if (button) button.disabled = false;
  }
}

// ---- the state of the text that is being worked on

const now = {
  draft: null, // the API's answer
  request: "",
  variant: 0,
  text: "",
  claims: [], // {kind, text, start, end, from, state: open | kept | struck}, places in UTF-16 units of `text`
  earlier: [], // texts and claims before each change
  shared: [], // {start, end, source}: words that stand in a text of the evidence too
  writing: null, // AbortController of the stream
};

// ---- writing

function order() {
  const form = new FormData($("order"));
  const body = { request: form.get("request"), stream: true };
  for (const name of ["voice", "intent", "recipient", "instructions"]) if (form.get(name)) body[name] = form.get(name);
  const length = form.get("length");
  if (length) body.length = /^\d+$/.test(length) ? Number(length) : length;
  if (form.get("variants") !== "1") body.variants = Number(form.get("variants"));
  return body;
}

async function write(body) {
  now.writing?.abort();
  const control = (now.writing = new AbortController());
  clearResult();
  $("result").hidden = false;
  $("stop").hidden = false;
  $("text").setAttribute("aria-busy", "true");
  say("Looking through your texts…");
  const started = performance.now();
  try {
    const several = body.variants > 1;
    const cards = several ? startVariants(body.variants) : [];
    let ended = false;
    for await (const [name, data] of events(await call("POST", "v1/drafts", body, control.signal))) {
      if (name === "retrieval") {
        showEvidence(data.retrieval.documents);
        const seen = several ? $("variants-shown") : $("result");
        requestAnimationFrame(() => seen.getBoundingClientRect().top > innerHeight * 0.7 && seen.scrollIntoView());
        say(`Writing from ${count(data.retrieval.documents.length, "text")} of yours…`);
      } else if (name === "reading") {
        const left = data.seconds_left === null ? "" : `, about ${Math.ceil(data.seconds_left)} s left`;
        say(data.done < data.total ? `Reading: ${Math.floor((100 * data.done) / data.total)} % of ${data.total} tokens${left}…` : "Writing…");
      } else if (name === "delta") {
        (several ? cards[data.variant].lastChild : $("text")).append(data.text);
      } else if (name === "error") {
        throw new Error(data.error.message);
      } else if (name === "draft") {
        ended = true;
        await showDraft(data, body.request);
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        if (data.stage !== "needs_input") say(`Written in ${seconds} s. ${toCheck()}`);
      }
    }
    if (!ended) throw new Error(BROKEN);
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "");
    if (!$("text").textContent && !body.variants) $("result").hidden = true;
    throw error;
  } finally {
    if (now.writing === control) {
      now.writing = null;
      $("stop").hidden = true;
      $("text").setAttribute("aria-busy", "false");
    }
  }
}

/** A share in words; nothing that was measured is sure. */
const percent = (part) => (part > 0.99 ? "more than 99 %" : part < 0.01 ? "less than 1 %" : `${Math.round(part * 100)} %`);
const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

function toCheck() {
  const open = now.claims.filter((claim) => claim.state === "open").length;
  return open ? `${count(open, "thing")} to check.` : now.claims.length ? "Nothing is left to check." : "Nothing stood out to check.";
}

function clearResult() {
  Object.assign(now, { draft: null, variant: 0, text: "", claims: [], shared: [], earlier: [] });
  for (const id of ["text", "claims", "notes", "evidence", "variants-shown", "asked"]) $(id).replaceChildren();
  for (const id of ["tools", "claims-part", "remarks", "questions", "variants-shown", "result"]) $(id).hidden = true;
  leaveEditor();
  $("paper").hidden = false;
  $("evidence-hint").textContent = "";
}

async function showDraft(draft, request) {
  now.draft = draft;
  now.request = request;
  showEvidence(draft.retrieval.documents);
  showRemarks(draft);
  if (draft.stage === "needs_input") return ask(draft.questions);
  if (draft.variants) showVariants(draft.variants);
  $("tools").hidden = false;
  await take(0);
}

/** The UTF-16 place of each code point of a text, and of its end: the service counts code points. */
function places(text) {
  const found = [0];
  for (const character of text) found.push(found.at(-1) + character.length);
  return found;
}

/** Work on one of the texts. */
async function take(index) {
  const { text, claims } = now.draft.variants?.[index] ?? now.draft;
  const at = places(text);
  now.variant = index;
  now.text = text;
  now.earlier = [];
  now.shared = [];
  now.claims = claims.map((claim) => ({
    ...claim,
    start: claim.start === null ? null : at[claim.start],
    end: claim.end === null ? null : at[claim.end],
    state: "open",
  }));
  for (const [place, card] of [...$("variants-shown").children].entries()) {
    card.classList.toggle("taken", place === index);
    card.querySelector("button")?.setAttribute("aria-pressed", String(place === index));
  }
  leaveEditor();
  show();
  if (text) await markShared(now.draft.retrieval.documents);
}

function ask(questions) {
  $("paper").hidden = true;
  $("questions").hidden = false;
  questions.forEach((question, index) => {
    $("asked").append(
      make("label", { for: `answer-${index}`, dir: "auto" }, question),
      make("input", { id: `answer-${index}`, "data-question": question, dir: "auto", autocomplete: "off" }),
    );
  });
  say(`${count(questions.length, "question")} first.`);
  $("asked").querySelector("input")?.focus();
}

// ---- the text with its marks

/** Append text[from:to] with its stretches marked. */
function appendMarked(parent, text, stretches, from, to, numbered) {
  for (const { start, end, source } of stretches) {
    if (end <= from || start >= to) continue;
    parent.append(text.slice(from, Math.max(from, start)));
    const piece = text.slice(Math.max(from, start), Math.min(end, to));
    parent.append(make("span", { class: "taken", "data-n": numbered && end <= to ? source + 1 : null,
      title: numbered ? `These words are in text ${source + 1}` : null }, piece));
    from = Math.min(end, to);
  }
  parent.append(text.slice(from, to));
}

function show() {
  const documents = now.draft?.retrieval.documents ?? [];
  const stretches = now.shared;
  const shown = document.createDocumentFragment();
  let place = 0;
  const marked = now.claims
    .map((claim, index) => ({ ...claim, index }))
    .filter((claim) => claim.state === "open" && claim.start !== null)
    .sort((one, other) => one.start - other.start);
  for (const claim of marked) {
    if (claim.start < place) continue; // it overlaps the one before, and stands in the list
    appendMarked(shown, now.text, stretches, place, claim.start, true);
    const link = make("a", { href: `#claim-${claim.index}`, class: `claim ${claim.kind}`, title: KINDS[claim.kind] });
    appendMarked(link, now.text, stretches, claim.start, claim.end, true);
    shown.append(link);
    place = claim.end;
  }
  appendMarked(shown, now.text, stretches, place, now.text.length, true);
  $("text").replaceChildren(shown);
  $("undo").disabled = !now.earlier.length;
  $("accept").textContent = changed() ? "Accept as edited" : "Accept";
  showClaims(documents);
}

const KINDS = {
  carried_over: "Only one of your texts says so",
  unsupported: "Nothing given says so",
  commitment: "A promise that the request does not make",
  dropped: "The request says it, the draft does not",
  stronger: "Firmer than the request",
  weaker: "Less firm than the request",
};

function showClaims(documents) {
  $("claims-part").hidden = !now.claims.length;
  $("claims").replaceChildren(...now.claims.map((claim, index) => {
    const number = documents.findIndex((document) => document.id === claim.from) + 1;
    const why = make("span", { class: "why" }, KINDS[claim.kind], number ? ": " : "",
      number ? make("a", { href: `#evidence-${number}` }, `text ${number}`) : "");
    const item = make("li", { id: `claim-${index}`, class: `claim-item ${claim.kind} ${claim.state}`, tabindex: "-1" },
      make("div", {}, make("q", { dir: "auto" }, claim.text), why));
    if (claim.state !== "open") {
      item.append(make("span", { class: "state" }, claim.state === "kept" ? "Kept" : claim.state === "added" ? "Put in" : "Struck"));
      return item;
    }
    const dropped = claim.kind === "dropped";
    item.append(make("span", { class: "buttons" },
      make("button", { class: "strike", onclick: (event) => attempt(event.target, () => settle(index, dropped ? "added" : "struck")),
        "aria-label": `${dropped ? "Put in" : "Strike"}: ${claim.text}` }, dropped ? "Put in" : "Strike"),
      make("button", { class: "keep", onclick: (event) => attempt(event.target, () => settle(index, "kept")),
        "aria-label": `${dropped ? "Leave out" : "Keep"}: ${claim.text}` }, dropped ? "Leave out" : "Keep")));
    return item;
  }));
}

/** Strike a claim from the text, keep it, or put in what was dropped: at the cursor if the editor is open. */
async function settle(index, state) {
  const cursor = $("editor").hidden ? null : $("editor").selectionStart;
  readEditor();
  const claim = now.claims[index];
  let change = null;
  if (state === "added" && cursor !== null) {
    change = [cursor, cursor, spaced(claim.text, now.text[cursor - 1], now.text[cursor])];
  } else if (state !== "kept") {
    for (let text = null; text !== now.text;) { // again if the text was changed meanwhile
      text = now.text;
      change = await repair(claim);
      if (now.claims[index] !== claim || claim.state !== "open") return show();
    }
  }
  remember();
  if (change) replace(...change);
  claim.state = state;
  show();
  const put = change && now.text.slice(Math.max(0, change[0] - 40), change[0] + change[2].length).replace(/^\S+\s/, "").trim().split("\n").at(-1);
  say(`${{ struck: "Struck", kept: "Kept", added: `Put in: “…${put}”` }[state]}. ${toCheck()}`);
  ($("claims").querySelector(".claim-item.open button") ?? $("accept")).focus();
}

const spaced = (words, before, after) => `${before && /\S/.test(before) ? " " : ""}${words}${after && /[\p{L}\p{N}]/u.test(after) ? " " : ""}`;

/** What to replace, and by what: the service knows where sentences and the sign-off begin. */
async function repair(claim) {
  const at = places(now.text);
  const body = { draft_id: now.draft.id, text: now.text, words: claim.text };
  if (claim.start !== null) Object.assign(body, { start: at.indexOf(claim.start), end: at.indexOf(claim.end) });
  const change = await (await call("POST", "page/repair", body)).json();
  return [at[change.start], at[change.end], change.by];
}

function remember() {
  now.earlier.push({ text: now.text, shared: now.shared, claims: now.claims.map((claim) => ({ ...claim })) });
}

/** Replace text[start:end]; claims behind it move, claims in it are settled. */
function replace(start, end, by) {
  const moved = by.length - (end - start);
  now.text = now.text.slice(0, start) + by + now.text.slice(end);
  now.shared = now.shared.filter((mark) => mark.end <= start || mark.start >= end)
    .map((mark) => (mark.start >= end ? { ...mark, start: mark.start + moved, end: mark.end + moved } : mark));
  for (const claim of now.claims) {
    if (claim.start === null || claim.end <= start || claim.state !== "open") continue;
    if (claim.start >= end - 1) { // of a claim that now begins a sentence, the first letter was replaced
      claim.start = Math.max(start, claim.start + moved);
      claim.end += moved;
    } else if (start === end) { // put in among its words
      claim.end += moved;
    } else {
      claim.state = "struck";
    }
  }
}

const changed = () => now.draft && now.text !== (now.draft.variants?.[now.variant] ?? now.draft).text;

function leaveEditor() {
  $("editor").hidden = true;
  $("text").hidden = false;
  $("edit").setAttribute("aria-pressed", "false");
  $("edit").textContent = "Edit";
}

function enterEditor() {
  $("editor").value = now.text;
  $("editor").hidden = false;
  $("text").hidden = true;
  $("edit").setAttribute("aria-pressed", "true");
  $("edit").textContent = "Done";
  $("editor").rows = Math.min(24, Math.max(6, now.text.split("\n").length + now.text.length / 60));
  $("editor").focus();
}

/** Take over what the editor holds. */
function readEditor() {
  if ($("editor").hidden) return;
  const text = $("editor").value;
  leaveEditor();
  if (text === now.text) return;
  remember();
  const [old, most] = [now.text, Math.min(text.length, now.text.length)];
  let start = 0;
  while (start < most && old[start] === text[start]) start++;
  let same = 0;
  while (same < most - start && old.at(-1 - same) === text.at(-1 - same)) same++;
  replace(start, old.length - same, text.slice(start, text.length - same));
  show();
}

// ---- what it was written from

function showEvidence(documents) {
  $("result").hidden = false;
  $("evidence-hint").textContent = documents.length
    ? "Best first, with the retriever's score. Words that the draft shares with them are underlined in both."
    : "None: the draft is generic.";
  $("evidence").replaceChildren(...documents.map((document, index) =>
    make("li", { id: `evidence-${index + 1}`, tabindex: "-1" },
      make("p", { class: "hint" }, make("b", {}, `Text ${index + 1}`), ` · score ${document.score.toFixed(3)} · `, make("bdi", {}, document.id)),
      make("blockquote", { dir: "auto" }, document.excerpt || "It was deleted since."))));
}

/** Mark what the draft and its evidence share: three words in a row, which the service finds. */
async function markShared(documents) {
  const { draft, text } = now;
  const found = await (await call("POST", "page/shared", { draft_id: draft.id, text })).json().catch(() => null);
  if (!found || draft !== now.draft || text !== now.text) return;
  const at = places(text);
  now.shared = found.shared.map(([start, end, source]) => ({ start: at[start], end: at[end], source }));
  documents.forEach((document, index) => {
    const quote = $("evidence").children[index]?.querySelector("blockquote");
    const { text: whole, shared } = found.texts[document.id] ?? {};
    if (!quote || whole === undefined) return; // it was deleted since
    const [from, behind] = [places(whole), quote.nextElementSibling];
    const marks = shared.map(([start, end]) => ({ start: from[start], end: from[end] }));
    const fill = (long) => {
      const some = long ? whole : document.excerpt;
      quote.replaceChildren();
      appendMarked(quote, some, marks.filter(({ end }) => end <= some.length), 0, some.length, false);
    };
    fill(false);
    behind?.remove();
    if (whole === document.excerpt) return;
    const button = make("button", { class: "quiet", "aria-expanded": "false", onclick: () => {
      const open = button.getAttribute("aria-expanded") === "false";
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "Less" : "Whole text";
      fill(open);
    } }, "Whole text");
    quote.after(button);
  });
  show();
}

function showRemarks(draft) {
  const said = draft.retrieval.notes.map((note) => note.message);
  const edges = Object.values(draft.edges ?? {}).filter(Boolean).map((edge) => `“${edge.text}” (${count(edge.from.length, "text")})`);
  if (edges.length) said.unshift(`By rule, as in your latest texts: ${edges.join(", ")}.`);
  if (draft.revision) said.push(draft.revision.message);
  for (const edit of draft.editing?.edits ?? []) said.push(`${edit.category}: “${edit.span}” became “${edit.rewrite}”.`);
  if (draft.calibration) said.push(draft.calibration.message);
  if (draft.likeness !== null) said.push(`By its style alone, the chance that you wrote it is ${percent(draft.likeness)}.`);
  if (draft.quality !== null) said.push(`Its quality is ${draft.quality.toFixed(1)} of 10.`);
  $("notes").replaceChildren(...said.map((message) => make("li", { dir: "auto" }, message)));
  $("remarks").hidden = !said.length;
}

function startVariants(number) {
  const cards = Array.from({ length: number }, (_, index) =>
    make("article", { "aria-label": `Text ${index + 1}` }, make("h2", {}, `Text ${index + 1}`), make("div", { class: "text", dir: "auto" })));
  $("variants-shown").replaceChildren(...cards);
  $("variants-shown").hidden = false;
  return cards;
}

function showVariants(variants) {
  startVariants(variants.length).forEach((card, index) => {
    card.lastChild.append(variants[index].text);
    card.append(make("button", { "aria-pressed": "false", onclick: (event) => attempt(event.target, () => take(index)) }, "Work on this one"));
  });
}

// ---- what became of it

async function report(outcome) {
  readEditor();
  const body = { draft_id: now.draft.id, outcome };
  if (now.draft.variants && outcome !== "rejected") body.variant = now.variant;
  if (outcome === "edited") body.final_text = now.text;
  await call("POST", "v1/feedback", body);
  $("tools").hidden = true;
  $("claims-part").hidden = true;
  say(outcome === "rejected" ? "Rejected: later drafts do not learn from it." : "Kept: the text is in your history now.");
  $("request").focus();
}

// ---- drafts and history

const LISTS = {
  drafts: { path: "v1/drafts", item: draftItem },
  history: { path: "v1/documents", item: documentItem },
};

async function list(name, after) {
  const form = new FormData(document.querySelector(`form[data-list=${name}]`));
  const query = { limit: 20, after, query: form.get("query").trim(), voice: form.get("voice") };
  const turn = (LISTS[name].turn = (LISTS[name].turn ?? 0) + 1);
  const page = await get(address(LISTS[name].path, query));
  if (turn !== LISTS[name].turn) return; // it was asked for again meanwhile
  const into = document.querySelector(`ul[data-list=${name}]`);
  if (!after) into.replaceChildren();
  into.append(...page.data.map(LISTS[name].item));
  if (!into.children.length) into.append(make("li", { class: "hint" }, "Nothing."));
  const more = document.querySelector(`button[data-list=${name}]`);
  more.hidden = !page.has_more;
  more.dataset.after = page.last_id;
  say(`${count(page.data.length, "text")} listed.`);
}

const day = (seconds) => make("time", { datetime: new Date(seconds * 1000).toISOString() },
  new Date(seconds * 1000).toLocaleDateString(undefined, { dateStyle: "medium" }));

function draftItem(draft) {
  return make("li", {},
    make("p", { class: "hint" }, day(draft.created_at), draft.voice ? ` · ${draft.voice}` : "", ` · ${draft.model}`),
    make("p", { class: "asked", dir: "auto" }, draft.request),
    make("p", { class: "text clipped", dir: "auto" }, draft.text || draft.questions.join(" ")),
    make("button", { onclick: (event) => attempt(event.target, () => reopen(draft)) }, "Open"));
}

async function reopen(draft) {
  location.hash = "#write";
  clearResult();
  $("request").value = draft.request;
  $("voice").value = draft.voice ?? "";
  $("recipient").value = draft.recipient ?? "";
  $("variants").value = String(draft.variants?.length ?? 1);
  await showDraft(draft, draft.request);
  say(toCheck());
}

function documentItem(document) {
  const item = make("li", {},
    make("p", { class: "hint" }, day(document.timestamp), document.voice ? ` · ${document.voice}` : "",
      document.recipient ? make("bdi", {}, ` · to ${document.recipient}`) : "",
      document.sent_draft ? " · sent from a draft" : ""),
    document.request ? make("p", { class: "asked", dir: "auto" }, document.request) : "",
    make("p", { class: "text clipped", dir: "auto" }, document.text));
  const read = make("button", { "aria-expanded": "false", onclick: () => {
    const open = read.getAttribute("aria-expanded") === "false";
    read.setAttribute("aria-expanded", String(open));
    read.textContent = open ? "Less" : "Read";
    item.querySelector(".text").classList.toggle("clipped", !open);
  } }, "Read");
  const remove = danger("Delete it for good, with the draft it came from? ", async () => {
    await call("DELETE", `v1/documents/${encodeURIComponent(document.id)}`);
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    say("Deleted.");
    (next?.querySelector("button") ?? $("history-query")).focus();
  });
  item.append(make("p", { class: "buttons" }, read, remove));
  return item;
}

/** A button to delete something, which asks once more. */
function danger(question, work) {
  const button = make("button", { type: "button", class: "danger", onclick: () => {
    const sure = make("span", { class: "sure" }, question,
      make("button", { type: "button", class: "danger", onclick: (event) => attempt(event.target, work) }, "Delete"),
      make("button", { type: "button", onclick: () => { sure.replaceWith(button); button.focus(); } }, "Keep"));
    button.replaceWith(sure);
    sure.querySelector("button").focus();
  } }, "Delete");
  return button;
}

// ---- how far the service is with new texts

let watching = false;

/** Say how many texts are still unread, until none is, or nothing moves for a minute and a half. */
async function watchReading() {
  if (watching) return;
  watching = true;
  try {
    let [first, left] = [0, 0];
    for (let still = 0; still < 30; still++) {
      const { unread } = await get("page/unread");
      if (unread !== left) still = 0;
      [first, left] = [Math.max(first, unread), unread];
      if (!left) break;
      $("reading-part").max = first;
      $("reading-part").value = first - left;
      $("reading-said").textContent = `Getting your texts ready for drafts: ${first - left} of ${first}. You can write meanwhile.`;
      $("reading").hidden = false;
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  } catch {
    // it is said where it matters: by what the person does
  } finally {
    $("reading").hidden = true;
    watching = false;
  }
}

// ---- events of the page

const PARTS = [...document.querySelectorAll("nav a")].map((link) => link.hash.slice(1));
const OPENS = { drafts: () => list("drafts"), history: () => list("history") }; // what a part does when it is shown

/** Show the part that the address names. */
function go() {
  const part = PARTS.find((name) => `#${name}` === location.hash);
  if (!part && location.hash && location.hash !== "#main") { // a claim or a text of the evidence
    const target = $(location.hash.slice(1));
    if (target) return target.focus();
  }
  const shown = part ?? "write";
  for (const name of PARTS) $(name).hidden = name !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  fail("");
  if (part && part !== "write") say("");
  if (shown === "write" && !part) $("request").focus();
  else $(`${shown}-title`).focus({ preventScroll: true });
  if (OPENS[shown]) attempt(null, OPENS[shown]);
}

$("order").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt($("send"), () => write(order()));
});
$("request").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("order").requestSubmit();
});
$("stop").addEventListener("click", () => now.writing?.abort());
$("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  const answers = [...$("asked").querySelectorAll("input")].filter((input) => input.value.trim());
  const said = answers.map((input) => `${input.dataset.question} ${input.value.trim()}`);
  if (!said.length) return fail("Answer at least one of the questions.");
  $("request").value = [now.request, ...said].join("\n\n");
  attempt(event.submitter, () => write(order()));
});
$("edit").addEventListener("click", () => ($("editor").hidden ? enterEditor() : readEditor()));
$("editor").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  readEditor();
  $("edit").focus();
});
$("undo").addEventListener("click", () => {
  leaveEditor();
  Object.assign(now, now.earlier.pop());
  show();
  say(`Undone. ${toCheck()}`);
});
$("copy").addEventListener("click", () => attempt(null, async () => {
  readEditor();
  try {
    await navigator.clipboard.writeText(now.text);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren($("text"));
    say("The browser does not let the page copy; the text is selected, so copy it with Ctrl+C.");
  }
}));
$("accept").addEventListener("click", () => {
  readEditor();
  attempt($("accept"), () => report(changed() ? "edited" : "accepted"));
});
$("reject").addEventListener("click", () => attempt($("reject"), () => report("rejected")));
$("ended-close").addEventListener("click", () => $("ended").close());
for (const form of document.querySelectorAll("form.search"))
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(event.submitter, () => list(form.dataset.list));
  });
for (const button of document.querySelectorAll("button.more"))
  button.addEventListener("click", () => attempt(button, () => list(button.dataset.list, button.dataset.after)));
addEventListener("hashchange", go);
addEventListener("DOMContentLoaded", () => { go(); watchReading(); }); // the other scripts have added their parts by then
