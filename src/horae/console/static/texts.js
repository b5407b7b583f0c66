// Texts of the scripts in the language of the page: the server writes them into a template element.
const texts = new Map();

function load() {
  const template = document.getElementById("script-texts");
  for (const item of template?.content.children ?? []) texts.set(item.dataset.name, item.textContent);
}

export function text(name, facts = {}) {
  if (!texts.size) load();
  return (texts.get(name) ?? name).replace(/\{(\w+)\}/g, (whole, key) => (key in facts ? String(facts[key]) : whole));
}
