// Sliders on a log scale beside typed values: either moves the other, the command reads the text.

import { digits, element, quantity } from "./words.js";

const STEPS = 1000;

/** Where a number lies on a slider. */
export function position(control, number) {
  if (control.zero && number <= 0) return 0;
  const least = control.zero ? 1 : 0;
  const share = Math.log(number / control.least) / Math.log(control.most / control.least);
  return Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - least)) + least;
}

/** What a slider says at a place, as text. */
export function textAt(control, place, units) {
  if (control.zero && place === 0) return written(control, 0, units);
  const least = control.zero ? 1 : 0;
  const share = (place - least) / (STEPS - least);
  return written(control, control.least * (control.most / control.least) ** share, units);
}

function written(control, number, units) {
  if (control.kind === "whole") return String(Math.round(number));
  return control.kind in units ? quantity(number, units[control.kind]) : digits(number);
}

/** All controls of the page; `moved(name, text, done)` is called as one of them is moved. */
export class Controls {
  constructor(told, moved) {
    this.units = told.units;
    this.moved = moved;
    this.parts = new Map();
    const job = document.getElementById("job");
    const policies = document.getElementById("policies");
    job.append(element("h2", {}, "The job"));
    for (const control of told.controls) {
      const home = control.group ? this.group(policies, control.group) : job;
      home.append(this.made(control));
    }
    this.options(told);
  }

  group(policies, name) {
    const known = [...policies.querySelectorAll("details")].find((each) => each.dataset.group === name);
    if (known) return known;
    const made = element("details", { "data-group": name }, element("summary", {}, name));
    policies.append(made);
    return made;
  }

  options(told) {
    const home = document.getElementById("options");
    home.append(element("h2", {}, "How it is played"));
    const plain = (name, label, text) => ({ name, label, text, kind: "words", choices: [] });
    for (const each of [
      { ...plain("objective", "the advisor makes least", "time"), kind: "choice", choices: told.objectives },
      plain("replications", "replications", "1000"),
      plain("seed", "seed of the failures", "0"),
      plain("replication", "the run of the timeline", "median"),
    ]) home.append(this.made(each));
  }

  made(control) {
    const id = `c-${control.name.replaceAll(/[^\w-]/g, "_")}`;
    const error = element("p", { class: "error", id: `${id}-error`, role: "alert", hidden: true });
    const reset = element("button", {
      type: "button", class: "reset", hidden: true,
      title: "as in the scenario", "aria-label": `${control.label}: as in the scenario`,
    }, "↺");
    const shown = element("label", { for: id }, control.label);
    const part = { control, error, reset, box: null, text: null, slider: null };
    if (control.kind === "choice") {
      const choices = control.choices.map((text) => element("option", { value: text }, text));
      part.text = element("select", { id, class: "alone", "aria-describedby": error.id }, ...choices);
    } else {
      part.text = element("input", {
        id, type: "text", spellcheck: "false", autocapitalize: "off", "aria-describedby": error.id,
        class: control.most > 0 ? null : "alone",
      });
    }
    if (control.kind !== "choice" && control.most > 0) {
      part.slider = element("input", {
        type: "range", min: 0, max: STEPS, step: 1, "aria-label": `${control.label}, slider`,
      });
    }
    part.box = element("div", { class: "control", "data-name": control.name }, shown, part.slider, part.text, reset, error);
    this.parts.set(control.name, part);
    this.listen(part);
    return part.box;
  }

  listen(part) {
    const { control, text, slider, reset } = part;
    text.addEventListener("change", () => this.moved(control.name, text.value.trim(), true));
    reset.addEventListener("click", () => {
      text.focus();
      this.moved(control.name, "", true);
    });
    if (!slider) return;
    const slid = (done) => {
      const said = textAt(control, Number(slider.value), this.units);
      text.value = said;
      slider.setAttribute("aria-valuetext", said);
      this.moved(control.name, said, done);
    };
    slider.addEventListener("input", () => slid(false));
    slider.addEventListener("change", () => slid(true));
  }

  /** Show the texts of a question; what it leaves out is as in the scenario. */
  show(question) {
    for (const [name, part] of this.parts) {
      const text = question.get(name) ?? part.control.text;
      if (document.activeElement !== part.text || part.control.kind === "choice" || !question.has(name)) {
        if (part.text.value !== text) part.text.value = text;
      }
      part.reset.hidden = !question.has(name);
      part.box.classList.toggle("moved", question.has(name));
    }
  }

  /** What the command understood: sliders stand where that is. */
  understood({ texts, numbers }) {
    for (const [name, part] of this.parts) {
      if (part.slider && document.activeElement !== part.slider && numbers[name] !== null) {
        part.slider.value = position(part.control, numbers[name]);
      }
      part.slider?.setAttribute("aria-valuetext", texts[name] || "by its rule");
    }
  }

  /** A rule such as "optimal" has no number: its slider stands at the interval that it comes to. */
  planned(bars) {
    for (const { policy, interval_s: interval } of bars) {
      const part = this.parts.get(`policies.${policy}.interval`);
      const byRule = part?.slider && !/\d/.test(part.text.value);
      if (byRule && document.activeElement !== part.slider) {
        part.slider.value = interval === null ? STEPS : position(part.control, interval);
      }
    }
  }

  /** A clear word at each control that is wrong; false where a word finds no control. */
  faults(at) {
    const others = [];
    for (const [name, { error, text, box }] of this.parts) {
      const fault = at[name] ?? "";
      error.textContent = fault;
      error.hidden = !fault;
      if (fault) text.setAttribute("aria-invalid", "true");
      else text.removeAttribute("aria-invalid");
      for (let folded = fault && box.closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    }
    for (const [name, fault] of Object.entries(at)) {
      if (!this.parts.has(name)) others.push(`${name}: ${fault}`);
    }
    return others;
  }
}
