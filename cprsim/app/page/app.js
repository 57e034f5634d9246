// The page: a question is what stands in the address; the answer comes in parts, the quickest first.

import { Controls } from "./controls.js";
import { amount, bars, curve, key, systemColour, timeline } from "./pictures.js";
import { element, percent, table } from "./words.js";

const at = (id) => document.getElementById(id);
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const FILES = [
  ["report.html", "Report of this run"], ["breakdown.svg", "Picture: breakdown"],
  ["answer.svg", "Picture: the advisor's answer"], ["scenario.toml", "Scenario"],
];
const TOGETHER_MS = 1500; // moves of one control that follow each other so soon are one step back

let told;
let controls;
let question = new URLSearchParams(location.search);
let asking = null;
let asked = 0; // so many questions
let soon = 0;
let shown = {}; // the parts of the answer that is on the page
let lastPush = { name: "", at: -Infinity };

async function start() {
  told = await (await fetch("controls")).json();
  document.title = `${told.title}: what if`;
  at("title").textContent = told.title;
  at("path").textContent = told.path;
  controls = new Controls(told, moved);
  at("more").open = matchMedia("(min-width: 60rem)").matches;
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("reset-all").addEventListener("click", () => go(new URLSearchParams(), "", true));
  for (const button of document.querySelectorAll("[data-copies]")) button.addEventListener("click", () => copy(button.dataset.copies));
  addEventListener("popstate", () => {
    question = new URLSearchParams(location.search);
    lastPush = { name: "", at: -Infinity };
    ask(true);
  });
  new ResizeObserver(() => redraw()).observe(at("results"));
  ask();
}

/** A control was moved; `done`: it was let go. */
function moved(name, text, done) {
  const next = new URLSearchParams(question);
  const own = controls.parts.get(name).control.text;
  if (text === "" || text === own) next.delete(name);
  else next.set(name, text);
  go(next, name, done);
}

function go(next, name, done) {
  const changed = next.toString() !== question.toString();
  question = next;
  if (done) remember(name);
  if (changed || done) ask(name === "");
}

/** The question goes into the address, so that going back asks the one before. */
function remember(name) {
  const address = `${location.pathname}${question.size ? `?${question}` : ""}`;
  if (address === location.pathname + location.search) return;
  const again = name && name === lastPush.name && performance.now() - lastPush.at < TOGETHER_MS;
  history[again ? "replaceState" : "pushState"](null, "", address);
  lastPush = { name, at: performance.now() };
}

/** Ask what the controls say; whatever was under way is dropped, and quick moves are one question. */
function ask() {
  controls.show(question);
  clearTimeout(soon);
  soon = setTimeout(() => {
    asking?.abort();
    asking = new AbortController();
    stream(asking.signal);
  });
}

async function stream(signal) {
  at("results").setAttribute("aria-busy", "true");
  const query = new URLSearchParams(question);
  query.set("tab", TAB);
  query.set("number", ++asked); // the server may take up the one that was dropped after this one
  try {
    const answer = await fetch(`answer?${query}`, { signal });
    if (!answer.ok) throw new TypeError(await answer.text());
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (signal.aborted || done) break;
      const lines = (text + value).split("\n");
      text = lines.pop();
      for (const line of lines) take(JSON.parse(line));
    }
  } catch (error) {
    if (error.name !== "AbortError") fail([`The command has ended, or can't be reached: start it again. (${error.message})`]);
  }
  if (!signal.aborted) at("results").setAttribute("aria-busy", "false");
}

/** What shows the answer before, greyed, until its own part of this one has come. */
const PARTS = ["breakdown", "learning", "cost", "curve", "decision", "timeline", "tables", "lines"];

const upToDate = (...names) => names.forEach((name) => at(name).classList.remove("stale"));

/** Show a part of the answer. */
const TAKES = {
  asked(part) {
    shown = { asked: part, lanes: [], points: {} };
    controls.understood(part);
    controls.faults({});
    fail([]);
    PARTS.forEach((name) => at(name).classList.add("stale"));
    at("run-command").textContent = part.commands[0];
    at("advise-command").textContent = part.commands[1];
    at("advice").replaceChildren();
    at("advice-under-way").textContent = "It answers once the runs are done.";
    const query = part.query ? `?${part.query}` : "";
    at("files").replaceChildren(
      ...FILES.map(([name, words]) => element("a", { href: name + query, download: name }, words)),
      ...told.policies.map((name) => element("a", { href: `timeline.svg${query || "?"}&policy=${encodeURIComponent(name)}`, download: `${name}.svg` }, `Picture: one run, ${name}`)),
    );
  },
  coarse(part) {
    shown.coarse = shown.bars = part;
    controls.planned(part.bars);
    headline("Simulating …", "The bars are expected by formulas.");
    redraw();
  },
  equations(part) {
    shown.equations = part;
    at("toml").textContent = part.toml;
    at("decision").textContent = part.lines.join(" ");
    upToDate("decision");
    redraw("curve");
  },
  run(part) {
    shown.run = shown.bars = part;
    const count = part.replications.toLocaleString("en");
    headline(part.conclusion, `${count} replications, 95 % intervals${part.sharp ? "" : "; more are under way …"}`);
    if (part.sharp) said(part);
    redraw();
  },
  lane(part) {
    shown.lanes.push(part);
    at("timeline-note").textContent = part.note;
    if (shown.lanes.length === shown.bars.bars.length) redraw("timeline");
  },
  points(part) {
    shown.points[part.system] = part.points;
    redraw("curve");
  },
  progress(part) {
    const bar = at("progress");
    bar.hidden = false;
    if (part.total) Object.assign(bar, { max: part.total, value: part.done });
    else bar.removeAttribute("value");
    if (part.known !== undefined) at("advice-under-way").textContent = `Under way, ${part.what.replace("the advisor: ", "")}${part.total ? ` (${part.done} of ${part.total})` : ""}. ${part.known ? `So far: ${part.known}` : ""}`;
    else if (part.what.startsWith("compiling")) at("state").textContent = part.what;
  },
  advice(part) {
    at("advice-under-way").textContent = "";
    const [first, ...more] = part.lines;
    headline(first, "The recommendation across all systems, their settings searched.");
    const paragraphs = (lines) => lines.map((line) => element("p", {}, line));
    at("advice").replaceChildren(
      ...paragraphs(more), element("pre", {}, part.toml), table("Policies tried, best first", part.table), ...paragraphs(part.details),
    );
  },
  faults(part) {
    const others = controls.faults(part.at);
    fail([...others, ...part.others]);
    at("state").textContent = "Fix the value marked red; the results still show the previous values.";
    at("progress").hidden = true;
  },
  failed(part) {
    fail(part.lines);
    at("advice-under-way").textContent = "";
    at("progress").hidden = true;
  },
  done() {
    at("progress").hidden = true;
  },
};

function take(part) {
  TAKES[part.part](part);
  const results = at("results");
  results.dataset.part = part.part === "run" && part.sharp ? "sharp" : part.part;
  if (part.part === "asked") Object.assign(results.dataset, { query: part.query, seen: "" });
  results.dataset.seen = `${results.dataset.seen ?? ""} ${results.dataset.part}`.trim();
}

/** All numbers, and sentences about them. */
function said(part) {
  upToDate("tables", "lines");
  at("tables").replaceChildren(...part.tables.map((each) => table(each.title, each)));
  at("lines").replaceChildren(...part.lines.map((line) => element("li", {}, line)));
}

function headline(text, state) {
  if (at("least").textContent !== text) at("least").textContent = text;
  at("state").textContent = [...shown.asked.facts.map(([name, value]) => `${name} ${value}`), state].join("; ");
}

function fail(lines) {
  at("faults").replaceChildren(...lines.map((line) => element("p", {}, line)));
  at("faults").hidden = !lines.length;
}

/** Draw all pictures, or one of them, of what is known. */
function redraw(only) {
  if (!shown.bars) return;
  const rows = shown.bars.bars;
  if (!only) {
    breakdown(rows);
    learning(rows);
    cost(rows);
    upToDate("breakdown", "learning", "cost");
  }
  if (!only || only === "curve") intervals(rows);
  if (shown.lanes.length && (!only || only === "timeline")) {
    timeline(at("timeline"), shown.lanes, told.colours, told.units.duration);
    upToDate("timeline");
  }
}

function breakdown(rows) {
  const causes = Object.keys(told.causes);
  bars(at("breakdown"), rows.map((row) => ({
    ...named(row, "overhead"), parts: causes.map((cause) => [told.colours.causes[cause], row.causes[cause] ?? 0]),
  })), percent, `Overhead by cause: ${inWords(rows, "overhead")}.`);
  key(at("key"), told, causes.filter((cause) => rows.some((row) => row.causes[cause] > 0)));
  at("breakdown-note").textContent = shown.run
    ? "Share of the useful time; the whisker is the 95 % interval of the mean."
    : "Share of the useful time, expected to first order; intervals come with the runs.";
}

function learning(all) {
  const rows = all.filter((row) => row.measures.updates_lost.mean > 0 || row.measures.pls.mean > 0);
  at("learning-note").textContent = rows.length
    ? `Share of all updates that are lost for good; PLS, the portion of lost samples, beside.${rows.length < all.length ? " The other policies lose none." : ""}`
    : "None of these policies loses any.";
  if (!rows.length) at("learning").replaceChildren();
  else bars(at("learning"), rows.map((row) => {
    const lost = row.measures.updates_lost;
    return {
      ...named(row, "updates_lost"), facts: "", text: `updates ${lost.text}; PLS ${row.measures.pls.text}`,
      parts: [[systemColour(row.system, told.colours), lost.mean ?? 0]],
    };
  }), percent, `Updates lost: ${inWords(rows, "updates_lost")}.`);
}

function cost(rows) {
  const priced = rows.every((row) => row.measures.cost);
  if (shown.run) at("cost-section").hidden = !priced;
  if (!priced) return;
  at("h-cost").textContent = `Cost, ${shown.run.currency}`;
  bars(at("cost"), rows.map((row) => ({
    ...named(row, "cost"), parts: [[systemColour(row.system, told.colours), row.measures.cost.mean]],
  })), amount, `Cost: ${inWords(rows, "cost")}.`);
}

const named = (row, measure) => ({ name: row.policy, facts: row.saves, ...row.measures[measure] });
const inWords = (rows, measure) => rows.map((row) => `${row.policy} ${row.measures[measure].text}`).join("; ");

function intervals(rows) {
  const known = shown.equations?.curve;
  if (!shown.equations) return;
  upToDate("curve");
  if (!known) {
    at("curve").replaceChildren();
    at("curve-note").textContent = "No interval is best here: saves or failures cost nothing, or full recovery takes more than twice the time at every interval.";
    return;
  }
  curve(at("curve"), known, shown.points, rows, told.colours, told.units.duration);
  at("curve-note").textContent = "Solid: full recovery, dashed: partial recovery, by closed forms under exponential failures. "
    + "Points: 256 replications under this scenario's failures, with 95 % intervals. Star: the optimum of full recovery. Rings: policies of the scenario.";
}

async function copy(id) {
  const text = at(id).textContent;
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(at(id));
    at("copied").textContent = "Marked: copy it with Ctrl-C.";
  }
}

start();
