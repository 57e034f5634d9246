// Numbers as people write them, and elements with text: nothing is ever parsed as HTML.

/** The number in the largest unit that gives at least 1, three digits: what the command reads. */
export function quantity(value, units) {
  if (value === 0) return `0 ${units.at(-1)[0]}`;
  for (const [unit, factor] of units) {
    if (value >= factor * (unit === "d" ? 4 : 1)) return `${digits(value / factor)} ${unit}`;
  }
  const [unit, factor] = units.at(-1);
  return `${digits(value / factor)} ${unit}`;
}

export const digits = (value) => String(Number(value.toPrecision(3)));

export const percent = (share) => `${digits(100 * share)} %`;

/** An element with attributes and children; texts are texts. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((each) => each !== null));
  return made;
}

/** A table that scrolls by itself where it is too wide; the first cell of a row names it. */
export function table(caption, { headings, rows }) {
  const head = element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map(([first, ...others]) => element(
    "tr", {}, element("th", { scope: "row" }, first), ...others.map((text) => element("td", {}, text)),
  ));
  const shown = element(
    "table", {}, element("caption", {}, element("span", {}, caption)),
    element("thead", {}, head), element("tbody", {}, ...body),
  );
  return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, shown);
}
