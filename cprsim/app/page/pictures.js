// Pictures as SVG, drawn at the width they have: text is never scaled, and turns dark with the page.

import { digits, drawn, element, percent, quantity } from "./words.js";

const ROW = 42;
const BAR = 13;

/** Draw into a box as wide as it is; `said`: what the picture shows, in words. */
function picture(home, height, said, draw) {
  const width = Math.max(Math.floor(home.clientWidth), 260);
  const made = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said });
  draw(made, width);
  home.replaceChildren(made);
}

/** Round numbers from 0 up to `most`, or to the first beyond it. */
function ticks(most, count, beyond = false) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const steps = beyond ? Math.ceil(most / step - 1e-9) : Math.floor(most / step + 1e-9);
  return Array.from({ length: steps + 1 }, (_, i) => i * step);
}

/**
 * A bar a policy: its name and the number in words, parts of the bar side by side, a whisker for
 * the interval. Each row: { name, facts, text, parts: [[colour, length]], low, high }.
 */
export function bars(home, rows, format, said) {
  const longest = Math.max(1e-12, ...rows.map((row) => Math.max(row.high ?? 0, sum(row.parts))));
  const room = Math.max(home.clientWidth, 260);
  const below = rows.some((row) => row.name.length * 7.5 + row.text.length * 6.5 > room - 10) ? 15 : 0; // the number on a line of its own
  const height = ROW + below;
  picture(home, rows.length * height + 24, said, (made, width) => {
    const marks = ticks(longest, width > 600 ? 8 : 4, true);
    const most = marks.at(-1) * 1.02;
    const x = (value) => (value / most) * (width - 2);
    for (const tick of marks) {
      const at = x(tick) + 0.5;
      made.append(drawn("line", { class: "rule", x1: at, x2: at, y1: 0, y2: rows.length * height }));
      const anchor = at < 12 ? "start" : at > width - 20 ? "end" : "middle";
      made.append(drawn("text", { class: "faint", x: at, y: rows.length * height + 16, "text-anchor": anchor }, format(tick)));
    }
    rows.forEach((row, place) => {
      const top = place * height;
      const roomy = width > 560;
      made.append(drawn("text", { x: 0, y: top + 14 },
        drawn("tspan", { "font-weight": 650 }, row.name),
        roomy ? drawn("tspan", { class: "faint", dx: 8 }, row.facts) : null));
      made.append(drawn("text", { x: below ? 0 : width, y: top + 14 + below, "text-anchor": below ? "start" : "end" }, row.text));
      let from = 0;
      for (const [colour, length] of row.parts) {
        if (!(length > 0)) continue;
        made.append(drawn("rect", {
          class: "edge", x: x(from), y: top + 21 + below, width: Math.max(x(length), 0.5), height: BAR, fill: colour,
        }));
        from += length;
      }
      if (row.low !== null && row.high > row.low) made.append(whisker(x(row.low), x(row.high), top + 21 + below + BAR / 2));
    });
  });
}

function whisker(low, high, y) {
  const ends = `M${low},${y - 4}v8M${high},${y - 4}v8M${low},${y}H${high}`;
  return drawn("path", { class: "whisker", d: ends });
}

const sum = (parts) => parts.reduce((total, [, length]) => total + length, 0);

/** Overhead against the interval: lines by equations, points as simulated, the optimum marked. */
export function curve(home, told, points, bars_, colours, units) {
  const { lines, names, best } = told;
  const all = Object.values(lines).flat();
  const least = Math.min(...all.map(([at]) => at));
  const longest = Math.max(...all.map(([at]) => at));
  const top = Math.min(Math.max(...all.map(([, share]) => share)), Math.max(best[1] * 2.5, 1e-9));
  const said = `Overhead against the interval. Full recovery is least at ${quantity(best[0], units)}: ${percent(best[1])}.`;
  picture(home, 280, said, (made, width) => {
    const [left, right, bottom, head] = [48, width - 8, 240, 12];
    const x = (at) => left + (Math.log(at / least) / Math.log(longest / least)) * (right - left);
    const y = (share) => bottom - (share / top) * (bottom - head);
    made.append(drawn("clipPath", { id: "inside" }, drawn("rect", { x: left, y: 0, width: right - left + 6, height: bottom })));
    for (const tick of ticks(top, 5)) {
      made.append(drawn("line", { class: "rule", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
      made.append(drawn("text", { class: "faint", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, percent(tick)));
    }
    for (const at of durations(least, longest, width)) {
      made.append(drawn("text", { class: "faint", x: x(at), y: bottom + 16, "text-anchor": "middle" }, quantity(at, units)));
      made.append(drawn("line", { class: "rule", x1: x(at), x2: x(at), y1: head, y2: bottom }));
    }
    made.append(drawn("text", { class: "faint", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, "between two saves"));
    const inside = drawn("g", { "clip-path": "url(#inside)" });
    for (const [system, line] of Object.entries(lines)) {
      const colour = systemColour(system, colours);
      const path = line.map(([at, share], i) => `${i ? "L" : "M"}${x(at).toFixed(1)},${y(share).toFixed(1)}`).join("");
      inside.append(drawn("path", { d: path, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": system === "full" ? null : "7 3" }));
      for (const [at, share, low, high] of points[system] ?? []) {
        inside.append(drawn("path", { class: "whisker", d: `M${x(at)},${y(low)}V${y(high)}` }));
        inside.append(drawn("circle", { cx: x(at), cy: y(share), r: 3.5, fill: colour, class: "edge" }));
      }
    }
    inside.append(drawn("path", { class: "ink-fill", d: star(x(best[0]), y(best[1]), 8) }));
    for (const each of bars_) {
      const shown = each.system in names && each.interval_s >= least && each.interval_s <= longest;
      if (shown) inside.append(drawn("circle", { cx: x(each.interval_s), cy: y(each.measures.overhead.mean), r: 7, class: "ink-line", "stroke-width": 1.5 }));
    }
    made.append(inside);
  });
}

/** Full recovery is drawn in ink, which turns light with the page. */
export const systemColour = (system, colours) => (system === "full" ? "var(--ink)" : colours.systems[system] ?? "var(--faint)");

const DAY = 86400; // s
const ROUND = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, DAY / 2, DAY, 2 * DAY, 4 * DAY, 8 * DAY, 16 * DAY, 32 * DAY, 100 * DAY]; // s

function durations(least, longest, width) {
  const inside = ROUND.filter((at) => at >= least && at <= longest);
  const every = Math.ceil(inside.length / (width > 600 ? 9 : 4));
  return inside.filter((_, i) => i % every === 0);
}

function star(x, y, r) {
  const point = (i) => {
    const turn = (i * Math.PI) / 5 - Math.PI / 2;
    const far = i % 2 ? r * 0.42 : r;
    return `${(x + far * Math.cos(turn)).toFixed(1)},${(y + far * Math.sin(turn)).toFixed(1)}`;
  };
  return `M${Array.from({ length: 10 }, (_, i) => point(i)).join("L")}Z`;
}

/** One run a policy, on the same failures: what the job does when. */
export function timeline(home, lanes, colours, units) {
  const longest = Math.max(...lanes.map((each) => each.wall_s ?? 0), 1);
  const said = `One run under ${lanes.map((each) => each.policy).join(", ")}: what the job does when.`;
  picture(home, lanes.length * ROW + 26, said, (made, width) => {
    const x = (at) => (at / longest) * (width - 2);
    const fill = (cause) => (cause === "train" ? "var(--training)" : colours.causes[cause] ?? "var(--faint)");
    lanes.forEach((lane, place) => {
      const top = place * ROW;
      made.append(drawn("text", { x: 0, y: top + 13, "font-weight": 650 }, lane.policy));
      const facts = lane.fault ?? `${quantity(lane.wall_s, units)}, ${percent(lane.overhead)} overhead, ${lane.failures_s.length} failure${lane.failures_s.length === 1 ? "" : "s"}`;
      made.append(drawn("text", { x: width, y: top + 13, "text-anchor": "end", class: "faint" }, shortened(facts, width)));
      for (const [start, end, amounts] of lane.blocks ?? []) {
        const total = Object.values(amounts).reduce((a, b) => a + b, 0);
        let from = top + 23;
        for (const [cause, seconds] of Object.entries(amounts)) {
          const height = total ? (seconds / total) * BAR : BAR;
          made.append(drawn("rect", { x: x(start).toFixed(2), y: from.toFixed(2), width: Math.max(x(end) - x(start), 0.4).toFixed(2), height: height.toFixed(2), fill: fill(cause) }));
          from += height;
        }
      }
      const failures = lane.failures_s ?? [];
      const marks = failures.length > MARKED ? counts(failures.map(x), x(lane.wall_s), top + 22)
        : failures.map((at) => `M${(x(at) - 3.5).toFixed(1)},${top + 17}h7l-3.5,5z`).join("");
      if (marks) made.append(drawn("path", { class: "ink-fill", d: marks }));
    });
    const y = lanes.length * ROW;
    const step = ROUND.find((each) => longest / each <= (width > 600 ? 8 : 4)) ?? longest / 4;
    for (let tick = 0; tick <= longest; tick += step) {
      const anchor = tick === 0 ? "start" : x(tick) > width - 20 ? "end" : "middle";
      made.append(drawn("text", { class: "faint", x: x(tick), y: y + 14, "text-anchor": anchor }, tick ? quantity(tick, units) : "0"));
    }
  });
}

const MARKED = 60; // failures that have a mark each; of more, those in each stretch are counted

/** A bar for each stretch, as high as its failures are many; `at`: where these are, in pixels. */
function counts(at, width, bottom) {
  const wide = 5;
  const found = new Array(Math.ceil(width / wide) + 1).fill(0);
  for (const each of at) found[Math.floor(each / wide)] += 1;
  const most = Math.max(...found);
  return found.map((count, i) => {
    const high = (7 * count) / most;
    return count ? `M${i * wide},${bottom}v${-high.toFixed(1)}h${wide}v${high.toFixed(1)}z` : "";
  }).join("");
}

const shortened = (text, width) => (text.length * 6.4 > width * 0.68 ? `${text.slice(0, Math.floor((width * 0.68) / 6.4))}…` : text);

/** What the colours of the causes mean. */
export function key(home, told, causes) {
  const chip = (colour, text) => element("span", {},
    drawn("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, drawn("rect", { class: "edge", width: 10, height: 10, fill: colour })), text);
  const chips = causes.map((cause) => chip(told.colours.causes[cause], told.causes[cause]));
  home.replaceChildren(...chips);
}

export const amount = (value) => (value >= 1000 ? Math.round(value).toLocaleString("en") : digits(value));
