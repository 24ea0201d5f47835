"""The page of ``--plot FILE.html``: its frame, and what it does beside what the library does.

Names of the traced system are data in it: `textContent` is the only way in which they are shown.
"""

from __future__ import annotations

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: sans-serif; margin: 1em; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #333; color: #fff; }} }}
#controls {{ margin-bottom: 1em; }}
#told {{ min-height: 1.2em; overflow-wrap: anywhere; }}
#plot.vega-embed {{ display: block; overflow-x: auto; }}
</style>
</head>
<body>
<p>The wheel zooms, the mouse pulls; the search colours what it finds. A click zooms into a box of \
a flame graph, as Enter does, and arrow keys go from box to box. Escape, or a double click, goes \
back.</p>
<div id="controls"></div>
<p id="told" role="status"></p>
<div id="plot" tabindex="0" role="application" aria-label="charts"></div>
<script type="application/json" id="specification">{specification}</script>
<script type="module">{library}</script>
</body>
</html>
"""

# The library is a part of what is made of it; its names stay its own in a module.
PROGRAM = """\
const place = document.getElementById("plot");
const told = document.getElementById("told");
const specification = JSON.parse(document.getElementById("specification").textContent);
const flames = specification.vconcat.filter((chart) => "depth" in (chart.data.values[0] ?? {}));
const usual = specification.vconcat[0].width;
let at = null;  // the flame graph and the box that the keys are at

function say(box) {
  told.textContent = `${box.name}: ${box.count.toLocaleString("en")}, ${box.share}`;
}

function zoom(view, name, range) {
  return view.signal(`${name}_zoom_begin`, range).runAsync();
}

function reset(view) {
  for (const name of Object.keys(view.getState().signals)) {
    if (/^chart\\d+_zoom_/.test(name)) view.signal(name, null);
  }
  at = null;
  told.textContent = "";
  const field = document.querySelector("#controls input[type=search]");
  if (field) field.value = "";
  return view.signal("search", "").signal("current", "").runAsync();
}

function next(key) {
  if (!at) return {flame: 0, box: flames[0].data.values[0]};
  const boxes = flames[at.flame].data.values, here = at.box;
  if (key === "ArrowUp") {
    const above = boxes.filter((box) => box.depth === here.depth + 1
      && box.begin >= here.begin && box.end <= here.end);
    above.sort((one, other) => other.count - one.count);
    return above.length ? {flame: at.flame, box: above[0]} : at;
  }
  if (key === "ArrowDown") {
    const below = boxes.find((box) => box.depth === here.depth - 1
      && box.begin <= here.begin && box.end >= here.end);
    return below ? {flame: at.flame, box: below} : at;
  }
  const step = key === "ArrowRight" ? 1 : -1;
  if (here.depth === 0) {
    const flame = at.flame + step;
    return flames[flame] ? {flame, box: flames[flame].data.values[0]} : at;
  }
  const row = boxes.filter((box) => box.depth === here.depth);
  row.sort((one, other) => one.begin - other.begin);
  return {flame: at.flame, box: row[row.indexOf(here) + step] ?? here};
}

// The share of a flame graph that boxes cover of which some are in others.
function covered(boxes, whole) {
  let end = 0, sum = 0;
  boxes.sort((one, other) => one.begin - other.begin || other.end - one.end);
  for (const box of boxes) {
    sum += Math.max(0, box.end - Math.max(end, box.begin));
    end = Math.max(end, box.end);
  }
  return 100 * sum / whole;
}

function tellFound(words) {
  const texts = words ? flames.map((flame) => {
    const boxes = flame.data.values;
    const found = boxes.filter((box) => box.name.toLowerCase().includes(words.toLowerCase()));
    return `${flame.title.text}: ${found.length.toLocaleString("en")} boxes are found, `
      + `${covered(found, boxes[0].end).toFixed(2)}%`;
  }) : [];
  told.textContent = texts.join("; ");
}

function start(view) {
  let down = [0, 0];
  place.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
  view.addEventListener("click", (event, item) => {
    const name = /^(chart\\d+)_layer_/.exec(item?.mark?.name ?? "")?.[1];
    const flame = flames.findIndex((one) => one.name === name);
    const pulled = Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4;
    if (flame < 0 || pulled || !item.datum) return;
    const {begin, depth} = item.datum;
    const box = flames[flame].data.values.find((one) => one.begin === begin && one.depth === depth);
    at = {flame, box};
    say(box);
    zoom(view, name, [box.begin, box.end]);
  });
  place.addEventListener("keydown", (event) => {
    if (!flames.length || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" && at) {
      zoom(view, flames[at.flame].name, [at.box.begin, at.box.end]);
    } else if (/^Arrow(Up|Down|Left|Right)$/.test(event.key)) {
      at = next(event.key);
      say(at.box);
      const current = [flames[at.flame].name, at.box.depth, at.box.begin].join(":");
      view.signal("current", current).runAsync();
    } else {
      return;
    }
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset(view);
  });
  view.addSignalListener("search", (name, words) => tellFound(words));
}

// Charts of a window that is narrow, as a phone's: legends stand below, names are cut earlier.
function narrow(width) {
  const room = Math.max(width, 160);
  specification.config.legend = {orient: "bottom", columns: 1};
  specification.padding = 5;
  specification.title.limit = room;
  specification.params.find((one) => one.name === "wide").value = room;
  for (const chart of specification.vconcat) {
    const {x, y, color} = chart.encoding ?? {};
    chart.width = room;
    chart.title.limit = room;
    if (chart.title.subtitle) chart.title.subtitle = String(chart.title.subtitle).split("; ");
    if (color?.legend?.labelLimit) color.legend.labelLimit = room - 20;
    if (y?.axis?.labelLimit) y.axis.labelLimit = 110;
    if (x?.axis?.labelLimit) Object.assign(x.axis, {labelLimit: 110, labelAngle: -45});
  }
  return room;
}

function embed() {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  return vegaEmbed(place, specification, {
    mode: "vega-lite", renderer: "svg", bind: "#controls",
    ...(isDark ? {theme: "dark", tooltip: {theme: "dark"}} : {}),
    actions: {export: true, source: false, compiled: false, editor: false},
  });
}

async function draw() {
  const isNarrow = place.clientWidth < usual;
  const room = isNarrow ? narrow(place.clientWidth) : usual;
  let made = await embed();
  const beyond = place.scrollWidth - place.clientWidth;  // what stands beside the charts
  if (isNarrow && beyond > 0) {
    made.finalize();
    narrow(room - beyond);
    made = await embed();
  }
  place.view = made.view;
  start(made.view);
}

draw().catch((error) => { place.textContent = String(error); });
"""
