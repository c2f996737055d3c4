// Voices: list, make, change and delete them, by the helpers of page.js.
let known = []; // the voices, as last listed

const pathOf = (name) => `v1/voices/${encodeURIComponent(name)}`;

function voiceFields() {
  return $("voice-fields").content.cloneNode(true);
}

async function listVoices() {
  known = (await get("v1/voices")).data;
  $("voices-list").replaceChildren(...known.map(voiceItem));
  if (!known.length) $("voices-list").append(make("li", { class: "hint" }, "None yet: make one, or name it when you import texts."));
  for (const select of document.querySelectorAll("select[name=voice], #card-voice")) {
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...known.map(({ name }) => make("option", { value: name }, name)));
    select.value = known.some(({ name }) => name === chosen) ? chosen : "";
  }
}

function voiceItem(voice) {
  const item = make("li", {}, make("h2", {}, make("bdi", {}, voice.name)), make("p", { class: "hint" }, count(voice.documents, "text")));
  const form = make("form", { "aria-label": `The voice ${voice.name}` }, voiceFields());
  for (const name of ["instructions", "template", "k"]) form.elements[name].value = voice[name] ?? "";
  for (const name of ["edges", "local_only"]) form.elements[name].checked = voice[name];
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(event.submitter, async () => {
      await call("PUT", pathOf(voice.name), settings(form));
      say("Saved.");
    });
  });
  form.querySelector(".buttons").append(danger("Delete the voice? Its texts stay in your history, in no voice. ", async () => {
    await call("DELETE", pathOf(voice.name));
    await listVoices();
    say("Deleted.");
    $("voice-name").focus();
  }));
  item.append(form);
  return item;
}

function settings(form) {
  const { instructions, template, k, edges, local_only } = form.elements;
  return {
    instructions: instructions.value, template: template.value, k: k.value ? Number(k.value) : null, edges: edges.checked,
    local_only: local_only.checked,
  };
}

$("voice-new").append(voiceFields());
$("voice-new").addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  attempt(event.submitter, async () => {
    const name = form.elements.name.value.trim();
    await listVoices(); // another tab may have made it
    if (known.some((voice) => voice.name === name)) throw new Error(`There is a voice '${name}' already; change it above.`);
    await call("PUT", pathOf(name), settings(form));
    form.reset();
    await listVoices();
    say("Made. Texts that you import or accept with its name are its own.");
    $("voice-name").focus();
  });
});

OPENS.voices = listVoices;
