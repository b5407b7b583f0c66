// Keyed DOM morphing: makes one tree equal to another with the fewest changes, so that focus, selection and open panels stay.
export function morph(current, wanted) {
  if (current.nodeType !== wanted.nodeType || current.nodeName !== wanted.nodeName) {
    current.replaceWith(wanted.cloneNode(true));
    return;
  }
  if (current.nodeType === Node.TEXT_NODE) {
    if (current.data !== wanted.data) current.data = wanted.data;
    return;
  }
  if (current.nodeType !== Node.ELEMENT_NODE) return;
  morphAttributes(current, wanted);
  if (current !== document.activeElement || !("value" in current)) morphChildren(current, wanted);
}

function morphAttributes(current, wanted) {
  for (const { name, value } of wanted.attributes) if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  for (const { name } of [...current.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === "open" && current.nodeName === "DETAILS")) current.removeAttribute(name);
  }
}

function morphChildren(current, wanted) {
  const keyed = new Map([...current.children].filter((child) => child.id).map((child) => [child.id, child]));
  let place = current.firstChild;
  for (const child of wanted.childNodes) {
    const match = child.id ? keyed.get(child.id) : place && !place.id && place.nodeName === child.nodeName ? place : null;
    if (!match) {
      current.insertBefore(child.cloneNode(true), place);
    } else {
      if (match === place) place = place.nextSibling;
      else current.insertBefore(match, place);
      morph(match, child);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}
