"use strict";
// The map of the report: zoom, hover, selection, search, colours and nearest neighbours. All texts go in by textContent.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const frame = document.getElementById("frame"), card = document.getElementById("card");
  const controls = document.getElementById("controls"), chosen = document.getElementById("chosen");
  const legend = document.getElementById("legend");
  const MOST_LISTED = 60, LABELS = 12, MOST_ROWS = 12;

  function floats(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
  }
  function make(name, text, attributes = {}) {
    const element = document.createElement(name);
    if (text !== null) element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }
  function shown(value, field = {}) {
    if (!Number.isFinite(value)) return "missing";
    if (field.dates) return new Date(Math.round(864e5 * value)).toISOString().replace("T", " ").slice(0, value % 1 ? 16 : 10);
    return value.toLocaleString("en-US", { maximumSignificantDigits: 4, useGrouping: Math.abs(value) >= 1e4 });
  }

  const n = data.n, places = floats(data.places), distances = floats(data.distances);
  const fields = data.fields.map((field) => (field.numbers ? { ...field, numbers: floats(field.numbers) } : field));
  const choices = fields.filter((field) => !field.texts);
  const state = { colour: fields.length && !fields[0].texts ? 0 : -1, hover: -1, focus: -1, selected: new Set(),
    found: new Set(), box: null, near: [], zoom: 1, centre: null };

  // Labels leave out what all names begin with, and the middle of long ones.
  const shared = data.names.reduce((start, name) => {
    let k = 0;
    while (k < start.length && start[k] === name[k]) k++;
    return start.slice(0, k);
  }).replace(/[\p{L}\p{N}]*$/u, "").length;
  function brief(name) {
    const rest = (shared > 5 ? name.slice(shared) : name);
    return rest.length > 22 ? `${rest.slice(0, 9)}…${rest.slice(-12)}` : rest;
  }

  // ---------------------------------------------------------------- places and colours
  const canvas = make("canvas", null, { tabindex: "0", role: "application" });
  canvas.setAttribute("aria-label",
    `Map of ${n} items. Arrow keys move to the next item, Enter selects it and shows its neighbours, Escape clears.`);
  const context = canvas.getContext("2d");
  const xs = new Float64Array(n), ys = new Float64Array(n);
  let width = 0, height = 0, scale = 1, middle = [0, 0], paint = [], order = [];

  function range(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    return low <= high ? [low, high] : [0, 1];
  }
  function place() {
    width = Math.max(200, frame.clientWidth);
    const [left, right] = range(places.filter((_, k) => k % 2 === 0)), [low, high] = range(places.filter((_, k) => k % 2));
    const spanX = Math.max(right - left, 1e-12), spanY = Math.max(high - low, 1e-12), margin = 22;
    height = Math.min(620, Math.max(300, 0.75 * width), Math.max(260, (width * spanY) / spanX));
    const unit = state.zoom * Math.min((width - 2 * margin) / spanX, (height - 2 * margin) / spanY);
    const [x, y] = state.centre ?? [(left + right) / 2, (low + high) / 2];
    for (let i = 0; i < n; i++) {
      xs[i] = width / 2 + (places[2 * i] - x) * unit;
      ys[i] = height / 2 - (places[2 * i + 1] - y) * unit;
    }
    scale = unit;
    middle = [x, y];
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  function theme(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function mixed(stops, share) {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    const parts = [1, 3, 5].map((from) => {
      const [one, two] = [stops[k], stops[k + 1]].map((stop) => parseInt(stop.slice(from, from + 2), 16));
      return Math.round(one + (at - k) * (two - one));
    });
    return `rgb(${parts})`;
  }
  function colourAll() {
    const field = state.colour < 0 ? null : choices[state.colour], missing = theme("--c9");
    legend.replaceChildren(...(field ? [make("li", `${field.name}:`)] : []));
    if (!field) {
      paint = Array(n).fill(theme("--c0"));
    } else if (field.classes) {
      const palette = field.classes.map((_, k) => theme(`--c${k % 10}`));
      paint = field.of.map((k) => (k < 0 ? missing : palette[k]));
      const entries = field.classes.map((name, k) => [name, `c${k % 10}`]);
      for (const [name, look] of field.of.includes(-1) ? [...entries, ["no label", "none"]] : entries) {
        const item = make("li", null);
        item.append(make("span", null, { class: `key ${look}` }), name);
        legend.append(item);
      }
    } else {
      const stops = [0, 1, 2, 3, 4].map((k) => theme(`--r${k}`)), [low, high] = field.ends ?? range(field.numbers), [least, most] = range(field.numbers);
      paint = Array.from(field.numbers, (value) =>
        Number.isFinite(value) ? mixed(stops, (value - low) / Math.max(high - low, 1e-12)) : missing);
      const [first, last] = [low, high].map((end) => shown(end, field));
      const item = make("li", (least < low && shown(least, field) !== first ? "below " : "") + first);
      item.append(make("span", null, { class: "ramp" }), (most > high && shown(most, field) !== last ? "above " : "") + last);
      legend.append(item);
      if ([...field.numbers].some(Number.isNaN)) {
        const none = make("li", null);
        none.append(make("span", null, { class: "key none" }), "missing");
        legend.append(none);
      }
    }
    const bare = (i) => field && (field.classes ? field.of[i] < 0 : !Number.isFinite(field.numbers[i]));
    const rows = [...paint.keys()];
    order = [...rows.filter(bare), ...rows.filter((i) => !bare(i))]; // those without a colour lie below
  }
  function ring(i, radius, colour, thickness = 2.5) {
    context.beginPath();
    context.arc(xs[i], ys[i], radius, 0, 7);
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    context.stroke();
  }
  function write(radius, front) {
    // Names of rows outside, of classes at their medians or the nearest free row, and of items that are far apart.
    const taken = [], most = Math.round(LABELS * state.zoom * state.zoom), back = theme("--back");
    const label = (text, x, y, weight) => {
      if (x < 0 || x > width || y < -radius || y > height) return false;
      context.font = `${weight} 12px system-ui, sans-serif`;
      const w = context.measureText(text).width + 6;
      x = Math.min(Math.max(x, w / 2), width - w / 2); // a name at the edge stays within
      const box = [x - w / 2, y - 8, x + w / 2, y + 8];
      if (taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) return false;
      taken.push(box);
      context.lineWidth = 3;
      context.strokeStyle = back;
      context.strokeText(text, x, y);
      context.fillStyle = front;
      context.fillText(text, x, y);
      return true;
    };
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const i of data.outside) label(`${brief(data.names[i])} (outside)`, xs[i], ys[i] - radius - 11, 400);
    const field = state.colour < 0 ? null : choices[state.colour];
    const half = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
    for (const [k, whole] of field?.classes?.entries() ?? []) {
      const name = whole.length > 22 ? `${whole.slice(0, 21)}…` : whole;
      const rows = field.of.flatMap((c, i) => (c === k ? [i] : []));
      const x = half(rows.map((i) => xs[i])), y = half(rows.map((i) => ys[i])), away = (i) => (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (rows.length > 1 && !label(name, x, y, 700)) rows.sort((i, j) => away(i) - away(j)).slice(0, 200).some((i) => label(name, xs[i], ys[i], 700));
    }
    const all = state.zoom > 2 && data.labels.length ? [...data.labels, ...data.names.keys()] : data.labels;
    for (const i of all) if (taken.length < most && !data.outside.includes(i)) label(brief(data.names[i]), xs[i], ys[i] - radius - 8, 400);
  }
  function zoom(factor, x, y) {
    // The place under (x, y) stays there.
    const next = Math.min(Math.max(state.zoom * factor, 1), 60), share = state.zoom / next;
    const at = [middle[0] + (x - width / 2) / scale, middle[1] - (y - height / 2) / scale];
    state.centre = next === 1 ? null : at.map((value, k) => value + (middle[k] - value) * share);
    state.zoom = next;
    place();
    draw();
  }
  function zoomIn() {
    // To the selected items, or to the one that has the focus.
    const rows = [...(state.selected.size > 1 ? state.selected : state.focus >= 0 ? [state.focus] : [])];
    if (!rows.length) return zoom(1.6, width / 2, height / 2);
    const [left, right] = range(rows.map((i) => xs[i])), [low, high] = range(rows.map((i) => ys[i]));
    const at = [middle[0] + ((left + right - width) / 2) / scale, middle[1] - ((low + high - height) / 2) / scale];
    const fits = rows.length > 1 ? 0.85 * Math.min(width / Math.max(right - left, 1), height / Math.max(high - low, 1)) : 1.6;
    state.centre = at;
    place();
    return zoom(Math.max(fits, 1.1), width / 2, height / 2);
  }
  function draw() {
    const radius = Math.min(6, Math.max(2.2, 70 / Math.sqrt(n))), front = theme("--front"), accent = theme("--accent");
    context.clearRect(0, 0, width, height);
    const dim = state.selected.size > 1 || state.found.size;
    context.lineWidth = n > 2000 ? 0.4 : 0.8;
    if (state.focus >= 0) {
      context.strokeStyle = front;
      context.globalAlpha = 0.6;
      for (const [, i] of state.near) {
        context.beginPath();
        context.moveTo(xs[state.focus], ys[state.focus]);
        context.lineTo(xs[i], ys[i]);
        context.stroke();
      }
    }
    context.strokeStyle = theme("--edge");
    for (const i of order) {
      context.globalAlpha = dim && !state.selected.has(i) && !state.found.has(i) ? 0.18 : 1;
      context.fillStyle = paint[i];
      context.beginPath();
      context.arc(xs[i], ys[i], radius, 0, 7);
      context.fill();
      context.stroke();
    }
    context.globalAlpha = 1;
    if (state.found.size && state.found.size <= 200) for (const i of state.found) ring(i, radius + 3, accent);
    if (state.focus >= 0) {
      for (const [, i] of state.near) ring(i, radius + 1, front, 1.2);
      ring(state.focus, radius + 5, accent);
    }
    for (const i of data.outside) ring(i, radius + 4, front, 1);
    if (state.hover >= 0) ring(state.hover, radius + 4, accent);
    write(radius, front);
    if (state.box) {
      const [a, b, c, d] = state.box;
      context.setLineDash([5, 4]);
      context.strokeStyle = front;
      context.lineWidth = 1.5;
      context.strokeRect(Math.min(a, c), Math.min(b, d), Math.abs(c - a), Math.abs(d - b));
      context.setLineDash([]);
    }
  }

  // ---------------------------------------------------------------- structures
  function picture(i, w, h) {
    const target = make("canvas", null, { width: String(2 * w), height: String(2 * h), role: "img" });
    target.style.width = `${w}px`;
    target.setAttribute("aria-label", `picture of ${data.names[i]}`);
    if (data.drawings && data.drawings[i]) return structure(target, data.drawings[i], 2 * w, 2 * h);
    return null;
  }
  function structure(target, text, w, h) {
    const [atoms, bonds, labels] = text.split("|"), two = (from, all) => parseInt(all.slice(from, from + 2), 36);
    const points = Array.from({ length: atoms.length / 4 }, (_, i) => [two(4 * i, atoms), two(4 * i + 2, atoms)]);
    const wide = Math.max(...points.map((q) => q[0]), 1), tall = Math.max(...points.map((q) => q[1]), 1);
    const unit = Math.min((w - 48) / wide, (h - 48) / tall, 1.7), pen = target.getContext("2d"), bond = 30 * unit;
    const at = points.map(([x, y]) => [w / 2 + (x - wide / 2) * unit, h / 2 + (y - tall / 2) * unit]);
    const known = new Map(labels ? labels.split(" ").map((one) => [Number(one.split(":")[0]), one.split(":")]) : []);
    pen.strokeStyle = pen.fillStyle = theme("--front");
    pen.lineWidth = Math.max(1.4, 0.06 * bond);
    pen.lineCap = "round";
    const lean = points.map(() => 0);
    const line = (x, y, u, v) => { pen.beginPath(); pen.moveTo(x, y); pen.lineTo(u, v); pen.stroke(); };
    for (let k = 0; k < bonds.length; k += 5) {
      const a = two(k, bonds), b = two(k + 2, bonds), kind = bonds[k + 4];
      let [x, y] = at[a], [u, v] = at[b];
      lean[a] += u - x;
      lean[b] += x - u;
      const length = Math.hypot(u - x, v - y) || 1, dx = (u - x) / length, dy = (v - y) / length, gap = 0.3 * bond;
      if (known.has(a)) { x += dx * gap; y += dy * gap; }
      if (known.has(b)) { u -= dx * gap; v -= dy * gap; }
      const off = 0.08 * bond;
      if (kind === "2" || kind === "3") {
        line(x - dy * off, y + dx * off, u - dy * off, v + dx * off);
        line(x + dy * off, y - dx * off, u + dy * off, v - dx * off);
        if (kind === "3") line(x, y, u, v);
      } else if (kind === "w") {
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(u - dy * off * 1.4, v + dx * off * 1.4);
        pen.lineTo(u + dy * off * 1.4, v - dx * off * 1.4);
        pen.fill();
      } else if (kind === "h") {
        for (let s = 0.1; s <= 1; s += 0.15) {
          const r = off * 1.4 * s, mx = x + (u - x) * s, my = y + (v - y) * s;
          line(mx - dy * r, my + dx * r, mx + dy * r, my - dx * r);
        }
      } else line(x, y, u, v);
    }
    const size = Math.max(11, 0.5 * bond), colours = { O: "--c1", N: "--c0", S: "--c5", F: "--c2", Cl: "--c2", Br: "--c7" };
    pen.font = `600 ${size}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    for (const [i, [, symbol, hydrogens, charge]] of known) {
      const h1 = hydrogens === "0" ? "" : `H${hydrogens === "1" ? "" : String.fromCharCode(0x2080 + Number(hydrogens))}`;
      const c = Number(charge), sign = c ? `${Math.abs(c) > 1 ? Math.abs(c) : ""}${c > 0 ? "+" : "−"}` : "";
      const left = lean[i] > 0.3 * bond, whole = left ? `${sign}${h1}${symbol}` : `${symbol}${h1}${sign}`;
      const half = pen.measureText(symbol).width / 2;
      pen.fillStyle = theme(colours[symbol] || "--front");
      pen.textAlign = left ? "right" : "left";
      pen.fillText(whole, at[i][0] + (left ? half : -half), at[i][1]);
    }
    return target;
  }

  // ---------------------------------------------------------------- what is said of items
  function valueOf(field, i) {
    if (field.texts) return field.texts[i] || "missing";
    if (field.classes) return field.of[i] < 0 ? "missing" : field.classes[field.of[i]];
    return shown(field.numbers[i], field);
  }
  function describe(i) {
    card.replaceChildren();
    if (i < 0) {
      card.append(make("p", "Point at an item, or tap it. Drag a rectangle to select several; Zoom in then goes there. A double click or the " +
        "wheel (with Ctrl) zooms. With the keyboard: arrow keys, Enter, + and −.", { class: "hint" }));
      return;
    }
    card.append(make("h3", data.names[i]));
    const seen = picture(i, 220, 160);
    if (seen) card.append(seen);
    if (data.smiles) card.append(make("div", data.smiles[i], { class: "smiles" }));
    const list = make("dl", null), now = state.colour < 0 ? [] : [choices[state.colour]];
    const lines = [...now, ...fields];
    for (const field of [...new Set(lines)].slice(0, 60)) list.append(make("dt", field.name), make("dd", valueOf(field, i)));
    card.append(list);
  }
  function tile(i, note) {
    const item = make("li", null, { class: "tile" }), button = make("button", null, { type: "button" });
    const seen = data.drawings ? picture(i, 120, 90) : null;
    if (seen) button.append(seen);
    button.append(data.names[i]);
    if (note) button.append(make("small", note));
    button.addEventListener("click", () => choose(i));
    button.addEventListener("mouseenter", () => hover(i));
    item.append(button);
    return item;
  }
  function nearest(i) {
    return data.near[i].map((k, j) => [distances[i * data.near[i].length + j], k]);
  }
  function summary(rows) {
    const field = state.colour < 0 ? null : choices[state.colour];
    if (!field) return "";
    if (field.classes) {
      const counts = field.classes.map((name, k) => [rows.filter((i) => field.of[i] === k).length, name]);
      return counts.filter(([count]) => count).sort((a, b) => b[0] - a[0]).slice(0, 6)
        .map(([count, name]) => `${count} ${name}`).join(", ");
    }
    const values = rows.map((i) => field.numbers[i]).filter(Number.isFinite);
    if (!values.length) return "";
    const mean = values.reduce((a, b) => a + b, 0) / values.length, [low, high] = range(values);
    return `${field.name}: mean ${shown(mean, field)}, from ${shown(low, field)} to ${shown(high, field)}`;
  }
  function list() {
    const rows = [...state.selected];
    chosen.replaceChildren();
    chosen.hidden = !rows.length && state.focus < 0;
    if (state.focus >= 0) {
      const near = make("ul", null, { class: "tiles", id: "neighbours" });
      state.near = nearest(state.focus);
      for (const [distance, i] of state.near) near.append(tile(i, `distance ${shown(distance)}`));
      chosen.append(make("h3", `Nearest to ${data.names[state.focus]} in the data`), near);
    }
    if (rows.length > 1) {
      const tiles = make("ul", null, { class: "tiles", id: "selected" });
      for (const i of rows.slice(0, MOST_LISTED)) tiles.append(tile(i, ""));
      const more = rows.length > MOST_LISTED ? ` The first ${MOST_LISTED} are listed.` : "", said = summary(rows);
      chosen.append(make("h3", `${rows.length} selected`), make("p", `${said}${said ? "." : ""}${more}`), tiles);
    }
  }
  function hover(i) {
    if (i === state.hover) return;
    state.hover = i;
    describe(i >= 0 ? i : state.focus);
    draw();
  }
  function choose(i) {
    if (!state.selected.has(i)) state.selected = new Set([i]);
    state.focus = i;
    describe(i);
    list();
    draw();
  }
  function clear() {
    state.selected = new Set();
    state.found = new Set();
    state.focus = state.hover = -1;
    search.value = "";
    result.textContent = "";
    describe(-1);
    list();
    draw();
  }

  // ---------------------------------------------------------------- pointer and keyboard
  function spot(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  function closest(x, y, reach) {
    let best = -1, least = reach * reach;
    for (let i = 0; i < n; i++) {
      const d = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return;
    const [x, y] = spot(event);
    state.box = [x, y, x, y];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = spot(event);
    if (state.box) {
      state.box = [state.box[0], state.box[1], x, y];
      draw();
    } else hover(closest(x, y, 14));
  });
  canvas.addEventListener("pointerup", () => {
    if (!state.box) return;
    const [a, b, c, d] = state.box;
    state.box = null;
    if (Math.hypot(c - a, d - b) < 5) return draw();
    const inside = (i) => xs[i] >= Math.min(a, c) && xs[i] <= Math.max(a, c) && ys[i] >= Math.min(b, d) && ys[i] <= Math.max(b, d);
    state.selected = new Set(Array.from({ length: n }, (_, i) => i).filter(inside));
    state.focus = -1;
    swallow = true;
    list();
    draw();
  });
  let swallow = false; // the click that ends a rectangle selects no item
  canvas.addEventListener("click", (event) => {
    if (swallow) { swallow = false; return; }
    const i = closest(...spot(event), 18);
    if (i < 0) return clear();
    if (event.shiftKey) {
      state.selected.add(i);
      state.focus = i;
      describe(i);
      list();
      draw();
    } else {
      state.selected = new Set();
      choose(i);
    }
  });
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("dblclick", (event) => zoom(2, ...spot(event)));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // a page that scrolls goes on
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, ...spot(event));
  }, { passive: false });
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    const here = state.hover >= 0 ? state.hover : state.focus, way = STEPS[event.key];
    if (way) {
      event.preventDefault();
      if (here < 0) return hover(closest(width / 2, height / 2, Infinity));
      let best = here, least = Infinity;
      for (let i = 0; i < n; i++) {
        const dx = xs[i] - xs[here], dy = ys[i] - ys[here], along = dx * way[0] + dy * way[1];
        const beside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
        if (along > 0.5 && along + 2 * beside < least) { least = along + 2 * beside; best = i; }
      }
      hover(best);
    } else if ((event.key === "Enter" || event.key === " ") && here >= 0) {
      event.preventDefault();
      state.selected = new Set();
      choose(here);
    } else if (event.key === "Escape") clear();
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.6 : 0.625, width / 2, height / 2);
  });

  // ---------------------------------------------------------------- controls
  function select(label, id, options, value, change) {
    const box = make("label", label), input = make("select", null, { id });
    for (const [key, text] of options) input.append(make("option", text, { value: String(key) }));
    input.value = String(value);
    input.addEventListener("change", () => change(Number(input.value)));
    box.append(input);
    controls.append(box);
  }
  select("Colour by", "colour", [[-1, "one colour"], ...choices.map((field, k) => [k, field.name])], state.colour, (k) => {
    state.colour = k;
    colourAll();
    list();
    draw();
  });
  const zooms = make("span", null, { class: "zoom" });
  const whole = () => zoom(1e-9, width / 2, height / 2);
  for (const [id, text, does] of [["in", "Zoom in", zoomIn], ["out", "Zoom out", () => zoom(0.625, width / 2, height / 2)],
    ["whole", "Whole map", whole]]) {
    const button = make("button", text, { type: "button", id });
    button.addEventListener("click", does);
    zooms.append(button);
  }
  controls.append(zooms);
  const searchBox = make("label", data.smiles ? "Search names and SMILES" : "Search names");
  const search = make("input", null, { type: "search", id: "search", autocomplete: "off" });
  searchBox.append(search);
  const clearButton = make("button", "Clear", { type: "button", id: "clear" });
  clearButton.addEventListener("click", clear);
  const result = make("span", "", { class: "hint", role: "status", id: "result" });
  controls.append(searchBox, clearButton, result);
  search.addEventListener("input", () => {
    const word = search.value.trim().toLowerCase();
    const matches = (i) => data.names[i].toLowerCase().includes(word) ||
      (data.smiles !== undefined && data.smiles[i].toLowerCase().includes(word));
    const found = word ? Array.from({ length: n }, (_, i) => i).filter(matches) : [];
    state.found = new Set(found);
    result.textContent = word ? `${found.length} found${found.length ? "; Enter lists them" : ""}` : "";
    draw();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return clear();
    if (event.key !== "Enter" || !state.found.size) return undefined;
    state.selected = new Set(state.found);
    state.focus = state.found.size === 1 ? [...state.found][0] : -1;
    describe(state.focus);
    list();
    return draw();
  });
  for (const picked of document.querySelectorAll("[data-item]")) {
    picked.addEventListener("click", () => {
      state.selected = new Set();
      whole();
      choose(Number(picked.dataset.item));
      document.getElementById("map").scrollIntoView();
    });
  }

  // ---------------------------------------------------------------- long tables, tables that sort, and commands to copy
  for (const body of document.querySelectorAll("tbody")) {
    const rest = [...body.rows].slice(MOST_ROWS);
    if (rest.length < 3) continue;
    const button = make("button", `Show all ${body.rows.length} rows`, { type: "button", class: "unfold" });
    for (const row of rest) row.hidden = true;
    button.addEventListener("click", () => {
      for (const row of body.rows) row.hidden = false;
      button.remove();
    });
    body.closest(".wide").after(button);
  }
  for (const head of document.querySelectorAll(".sorts th")) {
    if (!head.textContent || head.closest("table").tBodies[0].rows.length < 3) continue;
    const button = make("button", head.textContent, { type: "button", class: "sort" });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      // Cells with a number are sorted by it, rows without one are the last.
      const body = head.closest("table").tBodies[0], rows = [...body.rows], count = rows.filter((row) => !row.hidden).length;
      const key = (row) => row.cells[head.cellIndex]?.dataset.key, text = (row) => row.cells[head.cellIndex].textContent;
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      rows.sort(rows.some(key) ? (a, b) => (key(a) ? 0 : 1) - (key(b) ? 0 : 1) || way * (key(a) - key(b))
        : (a, b) => way * text(a).localeCompare(text(b), "en", { numeric: true }));
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      body.append(...rows);
      rows.forEach((row, k) => { row.hidden = k >= count; });
    });
  }
  for (const block of document.querySelectorAll("pre")) {
    const button = make("button", "Copy", { type: "button", class: "copy" }), code = block.firstChild;
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
      }
    });
    // Lines break between flags, not within them.
    const flags = /((?<= )--?[a-z][\w-]*(?: (?:'[^']*'|[^\s'-]\S*))?)/;
    code.replaceChildren(...code.textContent.split(flags).map((part, k) => (k % 2 ? make("span", part, { class: "word" }) : part)));
    block.append(button);
  }

  // ---------------------------------------------------------------- start
  frame.append(canvas);
  controls.hidden = card.hidden = false;
  const again = () => { place(); colourAll(); draw(); };
  new ResizeObserver(() => { if (Math.abs(frame.clientWidth - width) > 1) again(); }).observe(frame);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { again(); describe(state.focus); list(); });
  describe(-1);
  again();
  canvas.placeOf = (i) => [xs[i], ys[i]]; // for tests
})();
