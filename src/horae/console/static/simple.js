// Simple view: links with data-dialog open their form in one dialog; without scripts they are pages.
const dialog = document.getElementById("simple-dialog");

function showForm(html) {
  const form = new DOMParser().parseFromString(html, "text/html").getElementById("simple-form");
  if (!form) return false;
  dialog.replaceChildren(form);
  dialog.setAttribute("aria-labelledby", "simple-form-title");
  if (!dialog.open) dialog.showModal();
  const problem = form.querySelector("[role=alert]");
  if (problem) { problem.tabIndex = -1; problem.focus(); }
  return true;
}

async function openForm(address) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected || !showForm(await response.text())) location.assign(address);
}

async function send(form, button) {
  if (button) button.disabled = true;
  const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" });
  if (response.type === "opaqueredirect") location.assign(form.dataset.done);
  // A session that has ended: the browser sends the form itself and gets the sign-in page, which keeps the input.
  else if (!showForm(await response.text())) form.submit();
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest("a[data-dialog]");
  if (link) {
    event.preventDefault();
    openForm(link.href).catch(() => location.assign(link.href));
  } else if (dialog.open && event.target.closest("[data-close]")) {
    event.preventDefault();
    dialog.close();
  }
});

dialog.addEventListener("submit", (event) => {
  event.preventDefault();
  send(event.target, event.submitter).catch(() => event.target.submit());
});
