// An archive dropped on the page, or chosen: guessed, sent, imported, undone. And what is the person's as a whole: export
// and erasure. By the helpers of page.js.
const MOST_BYTES = 1e9; // as the service takes
const HEAD_BYTES = 65536; // of a file that is not packed: enough to guess its kind
const USER = document.querySelector(".who bdi").textContent;
let archive = null; // the file at hand
let kinds = null;
const given = new Map(); // what was said of the last file of a kind: {me, voice}
let sending = null; // the XMLHttpRequest under way: only such tell how much was sent

/** Send a file; `sent` gets the part that is there, `told` each event of the answer. Return the last event's data, or
 * what the answer says. */
function send(path, body, sent, told) {
  const request = (sending = new XMLHttpRequest());
  let read = 0, last = null;
  const readEvents = () => {
    for (let end; (end = request.responseText.indexOf("\n\n", read)) >= 0; read = end + 2) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(request.responseText.slice(read, end)) ?? [];
      if (name) told(name, (last = JSON.parse(data)));
    }
  };
  return new Promise((resolve, reject) => {
    request.open("POST", path);
    request.setRequestHeader("X-Pearl-Page", TOKEN);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => sent(event.loaded / event.total);
    request.onprogress = () => told && request.status === 200 && readEvents();
    request.onload = () => {
      let answer = null;
      if (told && request.status === 200) readEvents();
      else try { answer = JSON.parse(request.responseText); } catch { /* a proxy's page */ }
      if (request.status !== 200) reject(refused(request.status, answer));
      else if (last?.error) reject(refused(200, last));
      else if (told && last?.object !== "import") reject(new Error(CUT));
      else resolve(last ?? answer);
    };
    request.onerror = () => reject(new Error(CUT));
    request.onabort = () => reject(Object.assign(new Error(), { name: "AbortError" }));
    request.send(body);
  }).finally(() => { sending = null; });
}

const CUT = "The connection broke off. What was imported by then stays; the same file again adds the rest.";

function showProgress(part, words) {
  $("import-progress").hidden = part === null;
  if (part >= 0) $("import-progress").value = part;
  else $("import-progress").removeAttribute("value"); // how far it is cannot be said
  $("import-said").textContent = words;
  $("import-stop").hidden = part === null;
}

/** Do something with the file; show how far it is, and take that away at the end. */
async function following(work) {
  if (sending) throw new Error("Another file is being sent; wait for its end, or stop it.");
  try {
    await work();
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped. What was imported by then stays." : "");
    throw error;
  } finally {
    showProgress(null, "");
  }
}

async function takeFile(files) {
  if (files.length !== 1) throw new Error("One file at a time: pack several into a zip file.");
  const [file] = files;
  if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than 1 GB, which is too much at once: split it, or ask whoever runs this service.`);
  const head = await file.slice(0, 2).text().catch(() => {
    throw new Error("That cannot be read; if it is a folder, pack it into a zip file.");
  });
  const query = address("v1/imports/guess", { name: file.name });
  await following(async () => {
    kinds ??= (await get("v1/imports/kinds")).data;
    archive = file;
    $("imported").hidden = true;
    showProgress(-1, `Looking at ${file.name}…`);
    let guess = null;
    try {
      guess = await send(query, head === "PK" ? file : file.slice(0, HEAD_BYTES), (part) => showProgress(part, `Looking at ${file.name}…`));
    } catch (error) {
      if (error.code !== "unknown_source") throw error;
      fail(error.message);
    }
    showForm(guess);
  });
}

function showForm(guess) {
  $("import-looks").replaceChildren(make("bdi", {}, archive.name), guess ? ` looks like ${guess.looks}.` : ": say what it is.");
  $("import-kind").replaceChildren(make("option", { value: "" }, "Choose"), ...kinds.map(({ name, summary }) =>
    make("option", { value: name }, `${name}: ${summary}`)));
  $("import-kind").value = guess?.kind ?? "";
  const { me = "", voice = "" } = given.get(guess?.kind) ?? {}; // those of another kind would be wrong
  $("import-me").value = me;
  $("import-voice").value = voice;
  $("import-voices").replaceChildren(...[...$("voice").options].slice(1).map(({ value }) => make("option", { value })));
  $("import").hidden = false;
  showNeeds();
  (guess && !$("import-me-part").hidden ? $("import-me") : $("import-kind")).focus();
  say(guess ? "Say what it needs, then import it." : "");
}

/** Show what the chosen importer asks for. */
function showNeeds() {
  const kind = kinds.find(({ name }) => name === $("import-kind").value);
  $("import-me").required = Boolean(kind?.needs_me);
  $("import-me-part").hidden = !kind?.needs_me;
  $("import-options").replaceChildren(make("legend", {}, "Tick only what applies"), ...(kind?.options ?? []).map(({ name, description }) =>
    make("label", {}, make("input", { type: "checkbox", name: "option", value: name }), ` ${description}`)));
  $("import-options").hidden = !kind?.options.length;
}

async function importFile() {
  const form = new FormData($("import"));
  given.set(form.get("kind"), { me: form.get("me"), voice: $("import-voice").value });
  const query = new URLSearchParams({ name: archive.name, kind: form.get("kind"), stream: "true" });
  if ($("import-voice").value.trim()) query.set("voice", $("import-voice").value.trim());
  if (!$("import-me-part").hidden) for (const name of form.get("me").split("\n")) if (name.trim()) query.append("me", name.trim());
  for (const option of form.getAll("option")) query.append("option", option);
  say("Sending it…");
  await following(async () => {
    showProgress(0, "Sending it…");
    let outcome;
    try {
      outcome = await send(`v1/imports?${query}`, archive, (part) => showProgress(part, "Sending it…"), (name, data) => {
        if (name === "progress") showProgress(data.size ? Math.min(1, data.done / data.size) : -1, `${count(data.documents, "text")} so far…`);
      });
    } catch (error) {
      if (error.code === "ambiguous_dates") {
        error.message = "No date in the chat tells which number is the day. Say below how your telephone writes dates, then import it again.";
        $("import-options").querySelector("input").focus();
      }
      throw error;
    }
    showOutcome(outcome);
  });
}

function showOutcome(outcome) {
  const plain = (text) => text.replaceAll("--me", "you"); // the command's option
  const lines = [
    outcome.already_there && `${count(outcome.already_there, "text")} had been there before.`,
    outcome.conflicts && `${count(outcome.conflicts, "text")} had been there with other words, and stay as they are.`,
    outcome.set_apart && `${outcome.set_apart} of them set apart: they read like an assistant's, so drafts do not learn from them.`,
    ...Object.entries(outcome.left_out).map(([reason, number]) => `${number} left out: ${plain(reason)}.`),
    ...outcome.remarks.map(plain),
  ].filter(Boolean);
  const senders = outcome.senders.map(({ name, texts }) => make("button", { type: "button", dir: "auto", onclick: (event) => {
    $("import-me").value = name;
    attempt(event.target, importFile);
  } }, `${name} (${texts})`));
  $("imported").replaceChildren(
    make("h2", {}, `${count(outcome.imported, "new text")} from `, make("bdi", {}, outcome.source)),
    make("ul", {}, ...lines.map((line) => make("li", { dir: "auto" }, line))),
    senders.length ? make("p", {}, `Nobody in it is called ${outcome.unmatched_me.join(" or ")}. Which of these are you?`) : "",
    make("p", { class: "buttons" }, ...senders, outcome.id ? undoing(outcome.id, outcome.imported) : ""),
    outcome.errors.length ? make("details", {}, make("summary", {}, `What could not be read (${outcome.errors_total})`),
      make("ul", {}, ...outcome.errors.map(({ where, message }) => make("li", { dir: "auto" }, `${where}: ${message}`)))) : "");
  $("imported").hidden = false;
  $("import").hidden = !senders.length;
  $("archive").value = "";
  $("imported").focus();
  say(`Imported ${count(outcome.imported, "text")}.`);
  attempt(null, changedHistory);
  watchReading();
}

/** List anew what an import or its undoing changed. */
async function changedHistory() {
  await OPENS.voices?.(); // with them, the choices of a voice
  await OPENS[location.hash.slice(1)]?.();
}

function undoing(id, number) {
  const button = danger(`Remove the ${count(number, "text")} that it brought? What you changed since stays. `, async () => {
    const undone = await (await call("DELETE", address("v1/documents", { import: id }))).json();
    $("imported").hidden = true;
    await changedHistory();
    say(`Removed ${count(undone.deleted, "text")}.${undone.kept ? ` ${undone.kept} that you changed stay.` : ""}`);
    $(location.hash === "#data" ? "data-title" : "archive").focus();
  });
  button.textContent = "Undo the import";
  return button;
}

async function listImports() {
  const past = (await get("v1/imports")).data;
  $("past-imports").replaceChildren(...past.map((each) => make("li", {},
    make("p", { class: "hint" }, day(each.created_at), ` · ${each.kind}`),
    make("p", { dir: "auto" }, each.source),
    make("p", { class: "hint" }, `It brought ${count(each.brought, "text")}; ${each.documents} of them are there.`
      + (each.undone_at ? " Undone." : "")),
    each.documents && !each.undone_at ? make("p", { class: "buttons" }, undoing(each.id, each.documents)) : "")));
  if (!past.length) $("past-imports").append(make("li", { class: "hint" }, "None."));
}

async function download() {
  const link = make("a", { href: URL.createObjectURL(await (await call("GET", "v1/export")).blob()), download: "pearl-export.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say("Exported.");
}

async function erase() {
  if ($("erase-name").value.trim().normalize() !== USER.normalize()) throw new Error("That is not your name; nothing was deleted.");
  await call("DELETE", "v1/me");
  await fetch("page/sign-out", { method: "POST", body: new URLSearchParams({ token: TOKEN }), redirect: "manual" }).catch(() => {});
  $("main").replaceChildren(make("h1", { tabindex: "-1" }, "Everything of yours is deleted"),
    make("p", {}, "Your texts, drafts, voices and keys are gone for good. ", make("a", { href: "./" }, "Begin again or sign in")));
  for (const part of document.querySelectorAll("nav, .who")) part.hidden = true;
  $("main").querySelector("h1").focus();
}

OPENS.data = listImports;
$("erase-user").textContent = USER;
$("archive").addEventListener("change", (event) => event.target.files.length && attempt(null, () => takeFile(event.target.files)));
$("import-kind").addEventListener("change", showNeeds);
$("import").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(event.submitter, importFile);
});
$("import-stop").addEventListener("click", () => sending?.abort());
$("export").addEventListener("click", (event) => attempt(event.target, download));
$("erase").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(event.submitter, erase);
});
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  const files = [...event.dataTransfer.files]; // which the event takes back
  const take = () => attempt(null, () => takeFile(files));
  if (location.hash === "#history") return take();
  addEventListener("hashchange", take, { once: true }); // behind the one that shows the part
  location.hash = "#history";
});
