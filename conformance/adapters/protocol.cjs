// The adapter's side of the protocol, for libraries that Node can load: answer questions line by line.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { pathToFileURL } = require("node:url");

// A library that does not advance would fill the memory before the scorer's time limit; no case has so many fires.
const MOST_FIRES = 2000;

class Unsupported extends Error {}
class Refused extends Error {}

/** The folder of a package, looked for where the adapter was started and along NODE_PATH. */
function packageFolder(name) {
  const roots = (process.env.NODE_PATH || "").split(path.delimiter).filter(Boolean);
  for (const root of [...roots, path.join(process.cwd(), "node_modules")]) {
    const folder = path.join(root, name);
    if (fs.existsSync(path.join(folder, "package.json"))) return folder;
  }
  throw new Error(`${name} is not installed: put its node_modules folder on NODE_PATH`);
}

/** Loads an ES module or a CommonJS one, whichever the package is. */
async function load(name, entry) {
  const folder = packageFolder(name);
  const about = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const module = await import(pathToFileURL(path.join(folder, entry || about.main)));
  return { library: name, version: about.version, module };
}

/** "What comes after this?" asked again and again. */
function* walk(following, after) {
  for (let instant = following(after); instant; instant = following(instant)) yield instant;
}

function within(question, fires) {
  const found = [];
  for (const instant of fires) {
    if (instant.getTime() > question.until.getTime() || found.length === MOST_FIRES) break;
    found.push(instant.toISOString().replace(".000Z", "Z"));
  }
  return found;
}

/** Answers one question; anything but Unsupported and Refused is thrown on, and counts as a crash. */
function answer(asked, fires, policies) {
  const question = { ...asked, after: new Date(asked.after), until: new Date(asked.until) };
  try {
    if (!policies && (asked.gap !== "next" || asked.fold !== "first")) throw new Unsupported("no choice of gap or fold");
    return { id: asked.id, fires: within(question, fires(question)) };
  } catch (error) {
    if (error instanceof Unsupported) return { id: asked.id, unsupported: error.message };
    if (error instanceof Refused) return { id: asked.id, refused: error.message };
    throw error;
  }
}

async function serve({ library, version }, fires, { policies = false } = {}) {
  const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
  say({ library, version, zones: `ICU ${process.versions.tz}` });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    say(answer(JSON.parse(line), fires, policies));
  }
}

/** Runs a library's own parser, whose exceptions are its refusals. */
function parsed(parse) {
  try {
    return parse();
  } catch (error) {
    throw new Refused(error.message || String(error));
  }
}

module.exports = { load, parsed, serve, walk, Refused, Unsupported };
