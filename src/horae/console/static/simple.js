// Simple view: links with data-dialog open their form in one dialog, and the form previews its time. Without scripts the
// same links are pages.
const PREVIEW_MS = 200;
const WHEN_FIELDS = ["kind", "rule", "amount", "unit", "at", "zone"];
const dialog = document.getElementById("simple-dialog");
let previewTimer = 0;
let previewNumber = 0;

async function fetchPart(address, id) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html").getElementById(id);
}

function showForm(form) {
  dialog.replaceChildren(form);
  dialog.setAttribute("aria-labelledby", "simple-form-title");
  if (!dialog.open) dialog.showModal();
  const problem = form.querySelector("[role=alert]");
  if (problem) {
    problem.tabIndex = -1;
    problem.focus();
  }
}

async function openForm(address) {
  const form = await fetchPart(address, "simple-form");
  if (form) showForm(form);
  else location.assign(address);
}

async function send(form, button) {
  if (button) button.disabled = true;
  clearTimeout(previewTimer);
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (response.type === "opaqueredirect") return location.assign(form.dataset.done);
  const refused = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("simple-form");
  // A session that has ended: the browser sends the form itself and gets the sign-in page, which keeps the input.
  if (refused) showForm(refused);
  else form.submit();
}

async function preview(form) {
  const box = form.querySelector("[data-preview]");
  previewNumber += 1;
  const number = previewNumber;
  const filled = new FormData(form);
  const query = new URLSearchParams(WHEN_FIELDS.map((name) => [name, filled.get(name) ?? ""]));
  const wanted = await fetchPart(`${box.dataset.preview}?${query}`, "simple-preview");
  // An answer that arrives after a newer question is dropped.
  if (wanted && number === previewNumber) box.replaceChildren(...wanted.childNodes);
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = dialog && event.target.closest("a[data-dialog]");
  if (link) {
    event.preventDefault();
    openForm(link.href).catch(() => location.assign(link.href));
  } else if (dialog?.open && event.target.closest("[data-close]")) {
    event.preventDefault();
    dialog.close();
  }
});

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.querySelector("[data-preview]") || !WHEN_FIELDS.includes(event.target.name)) return;
  clearTimeout(previewTimer);
  previewTimer = setTimeout(() => preview(form).catch(() => {}), PREVIEW_MS);
});

dialog?.addEventListener("submit", (event) => {
  event.preventDefault();
  send(event.target, event.submitter).catch(() => event.target.submit());
});
