// Client of /scheduled-tasks for web pages: import { ScheduledTasks } from "/scheduled-tasks/console/client.js".
export class ScheduledTaskError extends Error {
  // `problem` is the answer of the server: code, detail, hint and status.
  constructor(status, problem) {
    super(problem.message ?? `HTTP ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

export class ScheduledTasks {
  #base;
  #token;
  #language;

  // `base` is the address of the server; by default the one that this file came from.
  constructor(token, { base = new URL("../..", import.meta.url).href, language } = {}) {
    this.#base = `${base.replace(/\/$/, "")}/scheduled-tasks`;
    this.#token = token;
    this.#language = language;
  }

  list() { return this.#send("GET", ""); }
  get(id) { return this.#send("GET", this.#path(id)); }
  create(task) { return this.#send("POST", "", task); }
  update(id, changes) { return this.#send("PUT", this.#path(id), changes); }
  remove(id) { return this.#send("DELETE", this.#path(id)); }
  runs(id) { return this.#send("GET", `${this.#path(id)}/runs`); }

  #path(id) { return `/${encodeURIComponent(id)}`; }

  async #send(method, path, body) {
    const headers = { Accept: "application/json", Authorization: `Bearer ${this.#token}` };
    if (this.#language) headers["Accept-Language"] = this.#language;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(this.#base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new ScheduledTaskError(response.status, answer);
    return answer;
  }
}
