"use strict";
// Renders the OpenAPI document of this server. Everything is put in as text, nothing as markup.

function make(name, text, ...children) {
  const element = document.createElement(name);
  if (text !== null) element.textContent = text;
  element.append(...children);
  return element;
}

function resolved(schemas, schema) {
  const place = schema && schema.$ref;
  return place ? schemas[place.split("/").pop()] : schema;
}

function rows(titles, lines) {
  const head = make("tr", null, ...titles.map((each) => make("th", each)));
  return make("table", null, head, ...lines.map((line) => make("tr", null, ...line.map((each) => make("td", each)))));
}

function parameters(operation) {
  const found = operation.parameters || [];
  if (!found.length) return [];
  const lines = found.map((each) => [each.name, each.in + (each.required ? ", required" : ""), each.description || ""]);
  return [make("h4", "Parameters"), rows(["name", "in", "meaning"], lines)];
}

function body(schemas, operation) {
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  if (!content) return [];
  const found = [make("h4", "Body")];
  if (content.example) found.push(make("pre", JSON.stringify(content.example, null, 2)));
  return [...found, schemaOf(schemas, content.schema)];
}

function schemaOf(schemas, schema) {
  const name = schema.$ref ? schema.$ref.split("/").pop() : "schema";
  const shown = make("details", null, make("summary", name));
  shown.append(make("pre", JSON.stringify(resolved(schemas, schema), null, 2)));
  return shown;
}

function answers(schemas, operation) {
  const found = [make("h4", "Answers")];
  const lines = Object.entries(operation.responses).map(([status, each]) => [status, each.description || ""]);
  found.push(rows(["status", "meaning"], lines));
  for (const [status, each] of Object.entries(operation.responses)) {
    const content = each.content && each.content["application/json"];
    if (Number(status) < 300 && content) found.push(schemaOf(schemas, content.schema));
  }
  return found;
}

function example(path, method, operation) {
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  const data = content && content.example ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(content.example)}'` : "";
  const token = operation.security.length ? " \\\n  -H \"Authorization: Bearer $TOKEN\"" : "";
  return make("pre", `curl -X ${method.toUpperCase()} '${location.origin}${path}'${token}${data}`);
}

function route(schemas, path, method, operation) {
  const title = make("summary", null, make("span", method.toUpperCase()), make("code", path), " " + (operation.summary || ""));
  title.firstChild.className = "method";
  const whole = make("div", operation.description || "");
  whole.append(example(path, method, operation), ...parameters(operation), ...body(schemas, operation), ...answers(schemas, operation));
  const shown = make("details", null, title, whole);
  shown.id = operation.operationId;
  shown.dataset.text = [method, path, operation.summary, ...Object.keys(operation.responses)].join(" ").toLowerCase();
  return shown;
}

function show(found) {
  document.getElementById("version").textContent = found.info.version;
  document.getElementById("about").textContent = found.info.description.replaceAll("`", "");
  const place = document.getElementById("routes");
  const groups = new Map();
  for (const [path, operations] of Object.entries(found.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = (operation.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, make("section", null, make("h2", tag)));
      groups.get(tag).append(route(found.components.schemas, path, method, operation));
    }
  }
  place.replaceChildren(...groups.values());
  if (location.hash) {
    const wanted = document.getElementById(location.hash.slice(1));
    if (wanted) { wanted.open = true; wanted.scrollIntoView(); }
  }
}

function find(event) {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of document.querySelectorAll("main details[data-text]")) {
    each.hidden = !words.every((word) => each.dataset.text.includes(word));
  }
}

document.getElementById("find").addEventListener("input", find);
fetch("/openapi.json").then((answer) => answer.json()).then(show);
