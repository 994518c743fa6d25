// The page: an editor, what the server says of its text, and two variants that can be compared.
import { linkOf, textOf } from "./link.js";
import { element, meaningElement } from "./meaning.js";
import { ask, newest, opened } from "./server.js";
import { createSliders } from "./sliders.js";

const at = (id) => document.getElementById(id);
const MOST_BYTES = 256 * 1024;
const PAUSE = 350; // milliseconds without a change after which a job is solved
const plan = newest("plan");
const comparison = newest("compare");
const check = newest("check");

let editor, sliders, name;
let waiting = 0;
const variants = { a: null, b: null };
let current = "a";
let tab = "report"; // of what follows from the job; on a narrow screen the job is one of the tabs

function say(text, wrong = false) {
  at("state").textContent = text;
  at("state").classList.toggle("error", wrong);
}

async function guarded(work) {
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

function line(text, place) {
  return text.slice(0, place).split("\n").length;
}

function showComplaints(text, found) {
  at("complaints").replaceChildren(...found.map((each) => {
    const help = each.help ? `\n  help: ${each.help}` : "";
    return element("p", `${each.severity} ${each.code}, line ${line(text, each.from)}: ${each.message}${help}`, each.severity);
  }));
}

// What the editor underlines. An answer about an older text is not shown.
async function checked(text) {
  try {
    const found = await check({ text });
    if (!found || text !== editor?.text()) return found?.complaints ?? [];
    showComplaints(text, found.complaints);
    sliders(found.sliders ?? []);
    return found.complaints;
  } catch (error) {
    say(error.message, true);
    return [];
  }
}

function stale(is) {
  for (const id of ["answers", "report", "text", "compare"]) at(id).classList.toggle("stale", is);
}

function changed(text) {
  variants[current] = text;
  clearTimeout(waiting);
  stale(true);
  waiting = setTimeout(() => guarded(solve), PAUSE);
}

async function solve() {
  say("solving …");
  await (tab === "compare" ? showComparison() : showPlan());
}

async function showPlan() {
  const text = variants[current];
  const found = await plan({ text });
  if (!found) return;
  if (!found.plans) {
    const error = found.complaints.find((each) => each.severity === "error");
    showComplaints(text, found.complaints);
    say(error ? `${error.code}: ${error.message}` : "no plan", true);
    return;
  }
  const count = found.plans.length;
  say(count > 1 ? `${count} targets solved; ${found.plans[0].target} is best` : `${found.plans[0].target} solved`);
  at("text").textContent = found.text;
  showAnswers(found.headline, found.answers);
  report = found.report;
  at("report").src = `${report}#${theme()}`;
  stale(false);
}

function showAnswers(headline, answers) {
  at("answers").hidden = false;
  at("answers").querySelector("h2").textContent = headline;
  at("answers").querySelector("dl").replaceChildren(...answers.map(({ question, answer }) => {
    const made = document.createElement("div");
    made.append(element("dt", question), element("dd", answer));
    return made;
  }));
}

// Light or dark as the system is until it is chosen; the report follows by the fragment of its address.
const dark = matchMedia("(prefers-color-scheme: dark)");
let report = "";

function theme() {
  return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

function themed() {
  at("theme").textContent = theme() === "dark" ? "Light" : "Dark";
  if (report) at("report").src = `${report}#${theme()}`;
}

async function showComparison() {
  const found = await comparison({ text: variants.a, other: variants.b });
  if (!found) return;
  const said = found.complaints?.map((each) => `${each.severity} ${each.code}: ${each.message}`).join("\n");
  at("compare").textContent = found.text ?? said;
  say(found.text ? "A and B" : "nothing to compare", !found.text);
  stale(false);
}

const narrow = matchMedia("(max-width: 760px)");

function choose(wanted) {
  document.querySelector("main").dataset.view = wanted;
  if (wanted !== "job") tab = wanted;
  const selected = narrow.matches ? wanted : tab;
  for (const each of ["report", "text", "compare"]) at(each).hidden = each !== tab;
  for (const each of ["job", "report", "text", "compare"]) {
    at(`tab-${each}`).setAttribute("aria-selected", String(each === selected));
  }
}

function turnTo(variant) {
  variants.b ??= variants.a;
  current = variant;
  at("variant-b").textContent = "B";
  at("tab-compare").hidden = false;
  for (const each of ["a", "b"]) at(`variant-${each}`).setAttribute("aria-pressed", String(each === variant));
  if (editor.text() === variants[variant]) guarded(solve);
  else editor.show(variants[variant]);
}

async function download() {
  at("zip").disabled = true;
  say("compiling …");
  try {
    const found = await ask("files", { text: editor.text() });
    if (!(found instanceof Blob)) throw new Error(found.complaints.map((each) => each.message).join("; "));
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(found);
    anchor.download = `${name.replace(/\.par$/, "")}.zip`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
    say(`${anchor.download} is downloaded`);
  } finally {
    at("zip").disabled = false;
  }
}

async function copyLink() {
  const fragment = await linkOf(editor.text());
  history.replaceState(null, "", location.pathname + fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    say("the link is copied");
  } catch {
    say("the link is in the address bar");
  }
}

async function begin() {
  const found = await opened();
  let text = found.text;
  try {
    text = (await textOf(location.hash, MOST_BYTES)) ?? text;
  } catch {
    say("the link carries no job: it is cut off or changed", true);
  }
  name = found.name;
  at("name").textContent = name;
  document.title = `${name} · parc`;
  const built = await import("./editor.js").catch(() => null);
  at("unbuilt").hidden = built !== null;
  const { createEditor } = built ?? (await import("./plain_editor.js"));
  variants.a = text;
  sliders = createSliders(at("sliders"), (from, to, insert) => editor.replace(from, to, insert));
  editor = createEditor({
    parent: at("editor"), text, language: found.language, changed, check: checked,
    nonce: document.querySelector('meta[name="style-nonce"]').content,
    complete: async (all, place) => (await ask("complete", { text: all, place })).offers
      .map((offer) => ({ ...offer, text: offer.text && (() => meaningElement(offer.text)) })),
    hover: async (all, place) => {
      const { meaning } = await ask("hover", { text: all, place });
      return meaning && { ...meaning, dom: meaningElement(meaning.text) };
    },
  });
  // What scrolls is reached by the keyboard: said here, since an editable element alone does not tell every reader.
  at("editor").querySelector("[contenteditable]")?.setAttribute("tabindex", "0");
  await solve();
}

at("tab-job").addEventListener("click", () => choose("job"));
narrow.addEventListener("change", () => choose(document.querySelector("main").dataset.view));
choose("job");
themed();
dark.addEventListener("change", themed);
at("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  themed();
});
for (const each of ["report", "text", "compare"]) {
  at(`tab-${each}`).addEventListener("click", () => {
    const other = (tab === "compare") !== (each === "compare");
    choose(each);
    if (other) guarded(solve);
  });
}
at("variant-a").addEventListener("click", () => turnTo("a"));
at("variant-b").addEventListener("click", () => turnTo("b"));
at("zip").addEventListener("click", () => guarded(download));
at("link").addEventListener("click", () => guarded(copyLink));
at("format").addEventListener("click", () => guarded(async () => {
  const { text } = await ask("format", { text: editor.text() });
  if (text !== undefined && text !== editor.text()) editor.show(text);
}));
guarded(begin);
