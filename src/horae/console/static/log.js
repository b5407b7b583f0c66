// Log pane: only the lines in view are in the document. They are grouped into blocks, which are fetched by line number
// when they come into view, and measured, so that wrapped lines may have any height.
const BLOCK = 50;
const MAX_REQUEST = 500;
const MAX_CACHED = 200;
const RETRY_MS = 2000;

class LogPane {
  constructor(root, tools) {
    this.root = root;
    this.tools = tools;
    this.total = Number(root.dataset.total);
    this.isGoing = root.dataset.going === "yes";
    this.level = tools.elements.level.value;
    this.numbers = null; // Numbers of the lines that the level filter shows; null: all lines.
    this.lines = new Map();
    this.shown = new Map();
    this.pending = new Set();
    this.heights = [];
    this.offsets = [0];
    this.matches = [];
    this.found = "";
    this.at = -1;
    this.target = null;
    this.following = this.isGoing;
    this.lastTop = 0;
    this.view = 0; // Rises with each change of the filter: responses of an earlier one are dropped.
    this.sizer = document.createElement("div");
    this.sizer.className = "sizer";
    this.frame = 0;
    // Places of blocks are rules of a style sheet of their own: no element of the page has a style attribute.
    this.sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
  }

  get count() {
    return this.numbers ? this.numbers.length : this.total;
  }

  get blocks() {
    return Math.ceil(this.count / BLOCK);
  }

  async start() {
    this.root.replaceChildren(this.sizer);
    this.root.classList.add("live-pane");
    document.getElementById("log-pages")?.remove();
    this.rowHeight = this.measureRow();
    this.root.addEventListener("scroll", () => this.onScroll(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(this.root);
    if (this.level !== "all") await this.applyLevel();
    else this.reset();
    const line = /^#L(\d+)$/.exec(location.hash);
    if (line) this.goToNumber(Number(line[1]));
    else if (this.following) this.scrollToEnd();
    if (this.tools.elements.find.value) await this.find(0);
    document.addEventListener("horae:log", () => this.update());
    this.update();
  }

  measureRow() {
    const probe = this.buildRow({ number: 1, clock: "00:00:00.000", level: "info", text: "x" });
    this.sizer.replaceChildren(probe);
    const height = probe.getBoundingClientRect().height || 20;
    this.sizer.replaceChildren();
    return height;
  }

  // --- geometry --------------------------------------------------------------------------------------------------------

  // Forgets every block: the filter, the wrapping or the width has changed.
  reset() {
    this.view += 1;
    this.lines.clear();
    this.pending.clear();
    this.clearShown();
    this.heights = [];
    this.grow();
    this.showEmpty();
    this.schedule();
  }

  clearShown() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
  }

  // Gives new blocks, and the last one, an estimated height.
  grow() {
    const last = this.heights.length - 1;
    if (last >= 0 && !this.shown.has(last)) this.heights[last] = this.estimate(last);
    while (this.heights.length < this.blocks) this.heights.push(this.estimate(this.heights.length));
    this.place();
  }

  estimate(block) {
    return this.sizeOf(block) * this.rowHeight;
  }

  sizeOf(block) {
    return Math.min(BLOCK, this.count - block * BLOCK);
  }

  place() {
    this.offsets = [0];
    for (const height of this.heights) this.offsets.push(this.offsets.at(-1) + height);
    const rules = [`#log .sizer { height: ${this.offsets.at(-1)}px; }`];
    for (const block of this.shown.keys()) {
      const height = this.lines.get(block)?.length ? "" : ` height: ${this.heights[block]}px;`;
      rules.push(`#log [data-block="${block}"] { transform: translateY(${this.offsets[block]}px);${height} }`);
    }
    this.sheet.replaceSync(rules.join("\n"));
  }

  blockAt(y) {
    let low = 0;
    let high = Math.max(0, this.heights.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // --- rendering -------------------------------------------------------------------------------------------------------

  schedule() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.render());
  }

  render() {
    this.frame = 0;
    if (!this.heights.length) return;
    if (this.following) this.pin();
    const top = this.root.scrollTop;
    const first = Math.max(0, this.blockAt(top) - 1);
    const last = Math.min(this.heights.length - 1, this.blockAt(top + this.root.clientHeight) + 1);
    for (const [block, element] of [...this.shown]) {
      if (block >= first && block <= last) continue;
      element.remove();
      this.shown.delete(block);
    }
    for (let block = first; block <= last; block += 1) this.showBlock(block);
    this.measure(top);
    this.load(first, last);
    this.reachTarget();
    this.lastTop = this.root.scrollTop;
  }

  showBlock(block) {
    const lines = this.lines.get(block);
    const isWhole = lines?.length === this.sizeOf(block);
    let element = this.shown.get(block);
    if (element && Number(element.dataset.size) === (lines?.length ?? 0) && element.dataset.found === this.found) return;
    if (!element) {
      element = document.createElement("div");
      element.className = "block";
      element.dataset.block = block;
      this.shown.set(block, element);
      const next = [...this.shown.keys()].filter((other) => other > block).sort((a, b) => a - b)[0];
      this.sizer.insertBefore(element, next === undefined ? null : this.shown.get(next));
    }
    element.dataset.size = String(lines?.length ?? 0);
    element.dataset.found = this.found;
    element.setAttribute("aria-busy", String(!isWhole));
    element.replaceChildren(...(lines ?? []).map((line) => this.buildRow(line)));
    this.markCurrent();
  }

  measure(top) {
    let shift = 0;
    let changed = false;
    for (const [block, element] of this.shown) {
      if (!this.lines.get(block)?.length) continue;
      const height = element.getBoundingClientRect().height;
      if (Math.abs(height - this.heights[block]) < 0.5) continue;
      if (this.offsets[block + 1] <= top) shift += height - this.heights[block];
      this.heights[block] = height;
      changed = true;
    }
    this.place();
    if (!changed) return;
    if (this.following) this.pin();
    else if (shift) this.root.scrollTop = top + shift;
    this.schedule();
  }

  buildRow(line) {
    const row = document.createElement("div");
    row.className = `line ${line.level}`;
    row.dataset.number = line.number;
    const number = document.createElement("a");
    number.className = "number";
    number.href = `#L${line.number}`;
    number.tabIndex = -1;
    number.textContent = line.number;
    row.append(number, this.cell("at", line.clock), this.cell("level", line.level), this.textCell(line.text));
    return row;
  }

  cell(name, content) {
    const cell = document.createElement("span");
    cell.className = name;
    cell.textContent = content;
    return cell;
  }

  textCell(content) {
    const cell = this.cell("text", "");
    cell.dir = "auto";
    const wanted = this.found.toLowerCase();
    const folded = wanted ? content.toLowerCase() : "";
    // Where lower case has another length, places in it are not places in the text.
    const canMark = wanted && folded.length === content.length;
    let from = 0;
    for (let place = canMark ? folded.indexOf(wanted) : -1; place >= 0; place = folded.indexOf(wanted, from)) {
      const mark = document.createElement("mark");
      mark.textContent = content.slice(place, place + wanted.length);
      cell.append(content.slice(from, place), mark);
      from = place + wanted.length;
    }
    cell.append(content.slice(from));
    return cell;
  }

  showEmpty() {
    let note = this.root.querySelector(".empty-log");
    if (this.count) {
      note?.remove();
      return;
    }
    if (!note) {
      note = document.createElement("p");
      note.className = "empty-log muted";
      this.root.prepend(note);
    }
    note.textContent = this.numbers ? this.root.dataset.textUnmatched : this.root.dataset.textEmpty;
  }

  // --- loading ---------------------------------------------------------------------------------------------------------

  async request(parameters) {
    const address = new URL(this.root.dataset.source, location.href);
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    const response = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store", credentials: "same-origin" });
    if (response.redirected || response.status === 401) {
      location.reload();
      throw new Error("signed out");
    }
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response.json();
  }

  // Returns the numbers of the lines that match, and the last number; null if the server does not answer.
  async requestNumbers(parameters) {
    try {
      const answer = await this.request({ numbers: 1, level: this.level, ...parameters });
      this.showState("");
      return answer;
    } catch {
      this.showState(this.root.dataset.textUnreachable);
      return null;
    }
  }

  load(first, last) {
    const missing = [];
    for (let block = first; block <= last; block += 1) {
      if (!this.pending.has(block) && (this.lines.get(block)?.length ?? 0) < this.sizeOf(block)) missing.push(block);
    }
    while (missing.length) {
      const run = [missing.shift()];
      while (missing[0] === run.at(-1) + 1 && run.length < MAX_REQUEST / BLOCK) run.push(missing.shift());
      this.loadBlocks(run);
    }
  }

  async loadBlocks(blocks) {
    const view = this.view;
    const index = blocks[0] * BLOCK;
    const after = this.numbers ? this.numbers[index] - 1 : index;
    for (const block of blocks) this.pending.add(block);
    try {
      const answer = await this.request({ after, limit: blocks.length * BLOCK, level: this.level });
      if (view !== this.view) return;
      for (const [place, block] of blocks.entries()) this.keep(block, answer.lines.slice(place * BLOCK, (place + 1) * BLOCK));
      this.forgetFar(blocks);
      this.showState("");
    } catch {
      if (view !== this.view) return;
      this.showState(this.root.dataset.textUnreachable);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    } finally {
      if (view === this.view) for (const block of blocks) this.pending.delete(block);
    }
    this.schedule();
  }

  keep(block, lines) {
    const known = this.lines.get(block)?.length ?? 0;
    if (lines.length >= known) this.lines.set(block, lines.slice(0, BLOCK));
  }

  // Drops the oldest blocks that are not in view, so that a long log does not fill the memory.
  forgetFar(newest) {
    for (const block of this.lines.keys()) {
      if (this.lines.size <= MAX_CACHED) return;
      if (!this.shown.has(block) && !newest.includes(block)) this.lines.delete(block);
    }
  }

  // --- following -------------------------------------------------------------------------------------------------------

  // Reads new lines; the event stream calls it when the log has some. A call during another one repeats it once.
  async update() {
    this.wanted = true;
    if (this.isUpdating) return;
    this.isUpdating = true;
    while (this.wanted && this.isGoing) {
      this.wanted = false;
      await this.readNew();
    }
    this.isUpdating = false;
    this.control("follow").hidden = !this.isGoing;
  }

  async readNew() {
    const view = this.view;
    try {
      const answer = await this.request({ after: this.polled ?? this.total, limit: MAX_REQUEST, level: this.level });
      if (view === this.view) this.append(answer);
      this.isGoing = answer.live || answer.lines.length > 0;
      // A full answer may have more behind it, and a filter that has changed meanwhile has lines of its own.
      this.wanted ||= answer.lines.length === MAX_REQUEST || view !== this.view || (!answer.live && this.isGoing);
      this.showState("");
    } catch {
      this.showState(this.root.dataset.textUnreachable);
      setTimeout(() => this.update(), RETRY_MS);
    }
  }

  // Adds lines that were written since the last request. Without a filter, lines between them and the end are loaded when
  // they come into view.
  append(answer) {
    const newest = answer.lines.at(-1)?.number ?? 0;
    const isPart = this.numbers && answer.lines.length === MAX_REQUEST;
    this.polled = isPart ? newest : Math.max(answer.total, newest, this.polled ?? 0);
    const before = this.count;
    for (const line of answer.lines) {
      const index = this.numbers ? this.numbers.length : line.number - 1;
      if (this.numbers) this.numbers.push(line.number);
      const block = Math.floor(index / BLOCK);
      const lines = this.lines.get(block) ?? [];
      if (lines.length === index % BLOCK) this.lines.set(block, [...lines, line]);
    }
    this.total = Math.max(this.total, answer.total, newest);
    if (this.count === before) return;
    this.showEmpty();
    this.grow();
    this.showTotal();
    this.schedule();
  }

  onScroll() {
    const top = this.root.scrollTop;
    const isAtEnd = top + this.root.clientHeight >= this.root.scrollHeight - 2;
    // A smooth scroll begins with a step of less than a line: every step upwards is the person's wish.
    if (top < this.lastTop - 0.5) this.setFollowing(false);
    else if (isAtEnd && this.isGoing) this.setFollowing(true);
    this.lastTop = top;
    this.schedule();
  }

  // Shows the end. The place is kept, so that the event of this scroll is not taken for the person's.
  pin() {
    this.root.scrollTop = this.root.scrollHeight;
    this.lastTop = this.root.scrollTop;
  }

  setFollowing(following) {
    this.following = following;
    this.control("follow").querySelector("input").checked = following;
  }

  scrollToEnd() {
    this.pin();
    this.schedule();
  }

  // Goes to the first or last line at once: a smooth scroll over the whole log would end where unmeasured lines begin.
  goToEdge(event) {
    if (event.target !== this.root || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    // The last line is reached once it is measured.
    this.target = event.key === "End" && this.count ? this.count - 1 : null;
    this.setFollowing(event.key === "End" && this.isGoing);
    if (event.key === "End") this.pin();
    else this.root.scrollTop = 0;
    this.schedule();
  }

  // --- going to a line -------------------------------------------------------------------------------------------------

  indexOf(number) {
    return this.numbers ? this.numbers.findIndex((each) => each >= number) : Math.min(number, this.total) - 1;
  }

  goToNumber(number) {
    const index = this.indexOf(number);
    if (index < 0) return;
    this.setFollowing(false);
    this.current = number;
    this.target = index;
    const block = Math.floor(index / BLOCK);
    const inBlock = ((index % BLOCK) + 0.5) * (this.heights[block] / this.sizeOf(block));
    this.root.scrollTop = this.offsets[block] + inBlock - this.root.clientHeight / 2;
    this.markCurrent();
    this.schedule();
  }

  // Centres the wanted line once its block is there and measured.
  reachTarget() {
    if (this.target === null) return;
    const block = Math.floor(this.target / BLOCK);
    const row = this.shown.get(block)?.children[this.target % BLOCK];
    if (!row) return;
    this.target = null;
    this.root.scrollTop = this.offsets[block] + row.offsetTop - (this.root.clientHeight - row.offsetHeight) / 2;
    this.markCurrent();
    this.schedule();
  }

  markCurrent() {
    for (const row of this.sizer.querySelectorAll(".line.current")) row.classList.remove("current");
    if (this.current) this.sizer.querySelector(`.line[data-number="${this.current}"]`)?.classList.add("current");
  }

  topNumber() {
    const edge = this.root.getBoundingClientRect().top;
    const rows = [...this.sizer.querySelectorAll(".line")];
    const row = rows.find((each) => each.getBoundingClientRect().bottom > edge + 1);
    return row ? Number(row.dataset.number) : 1;
  }

  // --- find, level and wrapping ----------------------------------------------------------------------------------------

  // Goes `by` matches further; a new text is looked up first, and begins at the first match in or below the view.
  async find(by) {
    const text = this.tools.elements.find.value;
    if (text !== this.found || by === 0) {
      await this.lookUp(text);
      return;
    }
    if (!this.matches.length) return;
    this.at = (this.at + by + this.matches.length) % this.matches.length;
    this.goToMatch();
  }

  async lookUp(text) {
    this.found = text;
    this.keepAddress();
    this.matches = [];
    this.at = -1;
    if (text) {
      const answer = await this.requestNumbers({ find: text });
      if (!answer || text !== this.found) return;
      this.matches = answer.numbers;
    }
    const top = this.topNumber();
    const below = this.matches.findIndex((number) => number >= top);
    this.at = this.matches.length ? Math.max(0, below) : -1;
    this.schedule();
    this.goToMatch();
  }

  goToMatch() {
    const { textMatches, textNone } = this.root.dataset;
    const place = textMatches.replace("{at}", this.at + 1).replace("{number}", this.matches.length);
    this.control("matches").textContent = !this.found ? "" : this.matches.length ? place : textNone;
    if (this.at >= 0) this.goToNumber(this.matches[this.at]);
  }

  async applyLevel() {
    this.level = this.tools.elements.level.value;
    const view = (this.view += 1);
    this.keepAddress();
    const answer = this.level === "all" ? null : await this.requestNumbers({});
    if (view !== this.view || (this.level !== "all" && !answer)) return;
    this.numbers = answer?.numbers ?? null;
    if (answer) this.polled = Math.max(answer.total, this.numbers.at(-1) ?? 0);
    this.root.scrollTop = 0;
    this.lastTop = 0;
    this.reset();
    this.showTotal();
    if (this.following) this.scrollToEnd();
    if (this.found) await this.lookUp(this.found);
  }

  setWrapping(isOn) {
    const top = this.topNumber();
    this.root.classList.toggle("wrap", isOn);
    this.clearShown();
    this.heights = this.heights.map((_, block) => this.estimate(block));
    this.place();
    this.lastTop = this.root.scrollTop;
    if (this.following) this.scrollToEnd();
    else this.goToNumber(top);
    this.schedule();
  }

  keepAddress() {
    const address = new URL(location.href);
    const values = { find: this.found, level: this.level === "all" ? "" : this.level };
    for (const [name, value] of Object.entries(values)) {
      if (value) address.searchParams.set(name, value);
      else address.searchParams.delete(name);
    }
    address.searchParams.delete("after");
    history.replaceState(null, "", address);
  }

  showTotal() {
    this.control("total").textContent = this.root.dataset.textLines.replace("{number}", this.count);
  }

  showState(text) {
    if (text) this.root.dataset.state = text;
    else delete this.root.dataset.state;
  }

  control(name) {
    return this.tools.querySelector(`[data-log="${name}"]`);
  }
}

function connect(pane, tools) {
  for (const name of ["previous", "next", "wrap"]) pane.control(name).hidden = false;
  pane.control("follow").hidden = !pane.isGoing;
  pane.control("submit").hidden = true;
  tools.addEventListener("submit", (event) => {
    event.preventDefault();
    pane.find(1);
  });
  tools.elements.find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    pane.find(-1);
  });
  pane.root.addEventListener("keydown", (event) => pane.goToEdge(event));
  pane.control("next").addEventListener("click", () => pane.find(1));
  pane.control("previous").addEventListener("click", () => pane.find(-1));
  tools.elements.level.addEventListener("change", () => pane.applyLevel());
  pane.control("wrap").querySelector("input").addEventListener("change", (event) => pane.setWrapping(event.target.checked));
  pane.control("follow").querySelector("input").addEventListener("change", (event) => {
    pane.setFollowing(event.target.checked);
    if (event.target.checked) pane.scrollToEnd();
  });
}

const root = document.getElementById("log");
const tools = document.getElementById("log-tools");
if (root && tools) {
  const pane = new LogPane(root, tools);
  connect(pane, tools);
  pane.start();
}
