// Keyed DOM morphing: makes one tree equal to another with the fewest changes, so that focus, selection, open panels,
// form input and scroll positions stay. Elements are matched by id; others by place and name.
const LISTS = new Set(["TBODY", "UL", "OL"]);

// Morphs `current` into `wanted`. `isHeld(list)` says which lists must keep their rows in place: their rows change, but
// none is added, removed or moved. Returns how many keyed rows were added, and how many are held back.
export function morph(current, wanted, isHeld = () => false) {
  const result = { added: [], held: 0 };
  const focused = document.activeElement;
  morphNode(current, wanted, isHeld, result);
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
  return result;
}

function morphNode(current, wanted, isHeld, result) {
  if (current.nodeType !== wanted.nodeType || current.nodeName !== wanted.nodeName) {
    current.replaceWith(document.importNode(wanted, true));
  } else if (current.nodeType === Node.TEXT_NODE) {
    if (current.data !== wanted.data) current.data = wanted.data;
  } else if (current.nodeType === Node.ELEMENT_NODE && !current.isEqualNode(wanted)) {
    morphElement(current, wanted, isHeld, result);
  }
}

function morphElement(current, wanted, isHeld, result) {
  if (isEdited(current)) return;
  morphAttributes(current, wanted);
  if (isList(current, wanted) && isHeld(current)) morphHeldList(current, wanted, isHeld, result);
  else morphChildren(current, wanted, isHeld, result);
}

// True for a form control that has the focus or other content than the server sent.
export function isEdited(element) {
  if (element.type === "hidden") return false;
  switch (element.nodeName) {
    case "INPUT":
      if (element === document.activeElement) return true;
      return element.value !== element.defaultValue || element.checked !== element.defaultChecked;
    case "TEXTAREA":
      return element === document.activeElement || element.value !== element.defaultValue;
    case "SELECT":
      return element === document.activeElement || isChosen(element);
    default:
      return false;
  }
}

function isChosen(select) {
  const options = [...select.options];
  // Without a chosen option in its markup, a list of one choice shows its first option.
  if (!select.multiple && !options.some((option) => option.defaultSelected)) return select.selectedIndex > 0;
  return options.some((option) => option.selected !== option.defaultSelected);
}

// The person, or a script of ours, decides about these attributes.
function isLocal(element, name) {
  if (name === "open") return element.nodeName === "DETAILS" || element.nodeName === "DIALOG";
  return name === "hidden" && (element.hasAttribute("data-copy") || element.hasAttribute("data-script"));
}

function morphAttributes(current, wanted) {
  for (const { name, value } of wanted.attributes) {
    if (current.getAttribute(name) !== value && !isLocal(current, name)) current.setAttribute(name, value);
  }
  for (const { name } of [...current.attributes]) {
    if (!wanted.hasAttribute(name) && !isLocal(current, name)) current.removeAttribute(name);
  }
}

function isList(current, wanted) {
  return LISTS.has(current.nodeName) && [...current.children, ...wanted.children].some((child) => child.id);
}

function keyedChildren(element) {
  return new Map([...element.children].filter((child) => child.id).map((child) => [child.id, child]));
}

function morphHeldList(current, wanted, isHeld, result) {
  const rows = keyedChildren(current);
  for (const child of wanted.children) {
    const row = child.id && rows.get(child.id);
    if (row) morphNode(row, child, isHeld, result);
    else if (child.id) result.held += 1;
    rows.delete(child.id);
  }
  for (const gone of rows.values()) gone.classList.add("gone");
}

function morphChildren(current, wanted, isHeld, result) {
  const keyed = keyedChildren(current);
  const isRowList = isList(current, wanted);
  let place = current.firstChild;
  for (const child of [...wanted.childNodes]) {
    place = skipMoved(place, child, wanted);
    const match = findMatch(child, place, keyed);
    if (!match) {
      const added = document.importNode(child, true);
      current.insertBefore(added, place);
      if (isRowList && child.id) result.added.push(added);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else move(current, match, place);
    morphNode(match, child, isHeld, result);
  }
  removeFrom(place);
}

// Drops a row that has left the list when the next wanted row already follows it: that row then need not move.
function skipMoved(place, child, wanted) {
  let at = place;
  while (at?.id && child.id && at.id !== child.id && !hasChild(wanted, at.id)) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  return at;
}

function hasChild(parent, id) {
  for (const child of parent.children) if (child.id === id) return true;
  return false;
}

function findMatch(child, place, keyed) {
  if (child.id) return keyed.get(child.id);
  return place && !place.id && place.nodeName === child.nodeName ? place : null;
}

// `moveBefore` keeps focus and running animations; browsers without it get the focus back at the end.
function move(parent, node, place) {
  if (parent.moveBefore) parent.moveBefore(node, place);
  else parent.insertBefore(node, place);
}

function removeFrom(place) {
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}
