// The voice card: how most texts begin and end, then each habit, folded. By the helpers of page.js.
async function card() {
  const voice = $("card-voice").value;
  $("card-about").textContent = "Reading your texts…";
  for (const id of ["card-edges", "card-lines", "card-more"]) $(id).replaceChildren();
  const profile = await get(address("v1/profile", { voice })).catch((error) => {
    $("card-about").textContent = "";
    throw error;
  });
  if (voice === $("card-voice").value) showCard(profile, voice);
}

function showCard(profile, voice) {
  const open = new Set([...document.querySelectorAll("#card details[open]")].map((each) => each.dataset.name));
  const folded = (name, summary, ...inside) => make("details", { "data-name": name, open: open.has(name) }, make("summary", {}, ...summary), ...inside);
  const shown = (name, examples) => (examples.length ? folded(`${name} examples`, ["Texts that show it"],
    make("ul", {}, ...examples.map(({ id, excerpt }) => make("li", { dir: "auto" }, excerpt ?? "", " ", make("bdi", { class: "hint" }, id))))) : "");
  $("card-about").textContent = profile.needs ?? `From ${count(profile.texts, "text")} of ${count(profile.occasions, "day")}, `
    + `compared with ${profile.compared_with}. Open a line to see texts that show it, and to say whether it is right.`
    + (profile.standing ? " These lines are standing instructions." : "");
  const edges = Object.entries(profile.edges).filter(([, edge]) => edge);
  $("card-edges").replaceChildren(...edges.map(([name, edge]) => make("li", {},
    make("p", { class: "text", dir: "auto" }, edge.text),
    make("p", { class: "hint" }, `${edge.texts === edge.of ? "All" : `${edge.texts} of`} ${count(edge.of, "text")} `
      + `${name === "greeting" ? "begin" : "end"} with it.`),
    shown(name, edge.examples))));
  const put = async (line, body) => {
    const path = address(`v1/profile/lines/${encodeURIComponent(line.name)}`, { voice });
    showCard(await (await call("PUT", path, body)).json(), voice);
    [...document.querySelectorAll("#card details")].find((each) => each.dataset.name === line.name)?.querySelector("summary").focus();
    say("Noted.");
  };
  const word = (line, state, label) => make("button", { "aria-pressed": String(line.state === state), "aria-label": `${label}: ${line.text}`,
    onclick: (event) => attempt(event.target, () => put(line, { state: line.state === state ? "listed" : state })) }, label);
  const item = (line) => {
    const right = make("input", { value: line.text, dir: "auto", "aria-label": "The right words" });
    const correct = make("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      attempt(event.submitter, () => put(line, { state: "corrected", text: right.value }));
    } }, right, make("button", {}, "Save"));
    const said = line.state === "listed" ? [] : [make("b", {}, ` You ${line.state} it.`)];
    return make("li", { class: line.state }, folded(line.name, [make("bdi", {}, line.text), ...said],
      make("p", { class: "hint" }, `In ${count(line.texts, "text")} of ${count(line.occasions, "day")}.`),
      shown(line.name, line.examples),
      make("p", { class: "buttons" }, word(line, "confirmed", "Right"), word(line, "struck", "Wrong")),
      folded(`${line.name} correct`, ["Correct it"], correct)));
  };
  const isWord = (line) => line.name.startsWith("word:");
  $("card-lines").replaceChildren(...profile.lines.filter((line) => !isWord(line)).map(item));
  const [words, people] = [profile.lines.filter(isWord), profile.recipients];
  $("card-more").replaceChildren(
    words.length ? folded("words", [`Words that you use more than others: ${words.map((line) => line.name.slice(5)).join(", ")}`],
      make("ul", { class: "texts" }, ...words.map(item))) : "",
    people.length ? folded("people", [`How you write to ${people.length === 1 ? "one person" : `${people.length} people`}`],
      make("ul", { class: "texts" }, ...people.map(({ text }) => make("li", { dir: "auto" }, text)))) : "");
}

OPENS.card = card;
$("card-voice").addEventListener("change", () => attempt(null, card));
