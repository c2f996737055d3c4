// Copy the key that is shown once.
const made = document.getElementById("made");
document.getElementById("copy").addEventListener("click", async () => {
  made.select();
  const said = await navigator.clipboard.writeText(made.value).then(() => "Copied.", () => "It is selected: copy it with Ctrl+C.");
  document.getElementById("copied").textContent = said;
});
