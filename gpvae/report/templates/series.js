"use strict";

const HEIGHT = 300, LEFT = 58, RIGHT = 8, TOP = 8, BOTTOM = 24, MISSING = 65535;
const HOUR = 3600e3, DAY = 24 * HOUR;
// Milliseconds between marks of a time axis; longer ones are whole months.
const STEPS = [HOUR / 60, HOUR / 12, HOUR / 4, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY];
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 240, 600];

/** The numbers of a chart, from the arrays on the page. */
function decode(chart, arrays) {
  const bytes = number => Uint8Array.from(atob(arrays[number]), letter => letter.charCodeAt(0)).buffer;
  const numbers = number => new Float64Array(bytes(number));
  const values = ({array, low, high}) => Float64Array.from(new Uint16Array(bytes(array)),
    level => level === MISSING ? NaN : low + (high - low) * level / (MISSING - 1));
  return {
    ...chart, input: numbers(chart.input), learnt: values(chart.learnt), heldOut: values(chart.heldOut),
    predictions: chart.predictions.map(one => ({method: one.method, input: numbers(one.input),
      mean: values(one.mean), lower: values(one.lower), upper: values(one.upper)})),
  };
}

/** The first index whose input is not below x. */
function indexOf(input, x) {
  let low = 0, high = input.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (input[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
}

/** Round numbers from begin to end, at most `count` of them. */
function marks(begin, end, count) {
  const rough = (end - begin) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  const first = Math.ceil(begin / step), digits = Math.max(0, -Math.floor(Math.log10(step)));
  return Array.from({length: Math.floor(end / step) - first + 1},
    (_, n) => [(first + n) * step, ((first + n) * step).toFixed(Math.min(digits, 20))]);
}

/** Round dates from begin to end, with their labels; the first has the year. */
function dateMarks(begin, end, count) {
  const step = STEPS.find(step => (end - begin) / step <= count), found = [];
  const months = MONTHS.find(months => (end - begin) / (30.4 * DAY * months) <= count) ?? MONTHS.at(-1);
  if (step) {
    for (let x = Math.ceil(begin / step) * step; x <= end; x += step) found.push(x);
  } else {
    const year = new Date(begin).getUTCFullYear();
    for (let n = 0, x; (x = Date.UTC(year, n)) <= end; n += months) if (x >= begin) found.push(x);
  }
  const text = (x, parts) => new Date(x).toLocaleString("en-GB", {timeZone: "UTC", ...parts});
  return found.map((x, n) => {
    const year = n === 0 || !step ? {year: "numeric"} : {};
    if (step < DAY && x % DAY) return [x, text(x, {hour: "2-digit", minute: "2-digit"})];
    return [x, text(x, !step && months >= 12 ? year : {month: "short", ...(step ? {day: "numeric"} : {}), ...year})];
  });
}

function explore(figure) {
  const {methods, charts, arrays} = JSON.parse(figure.querySelector("script").textContent);
  const [select, canvas, output] = ["select", "canvas", "output"].map(name => figure.querySelector(name));
  const shown = new Set(methods.keys()), pointers = new Map();
  let chart, first, last, begin, end, lowest, highest, at = null;

  const width = () => canvas.clientWidth - LEFT - RIGHT;
  const toInput = offset => begin + (end - begin) * (offset - LEFT) / width();
  const parts = () => chart.predictions.filter(part => shown.has(part.method));
  const short = value => Number.isFinite(value) ? Number(value.toPrecision(5)).toString() : "–";

  function open(number) {
    chart = decode(charts[number], arrays);
    const seen = [...chart.learnt, ...chart.heldOut].filter(Number.isFinite).sort((a, b) => a - b);
    const reach = seen.at(-1) - seen[0];
    [lowest, highest] = seen.length ? [seen[0] - reach, seen.at(-1) + reach] : [-Infinity, Infinity];
    const whole = first !== chart.input[0] || last !== chart.input.at(-1);
    [first, last] = [chart.input[0], chart.input.at(-1)];
    if (whole) [begin, end, at] = [first, last, null];
    redraw();
  }

  /** Show the inputs from `from` on, `length` of them, as far as there are any. */
  function show(from, length) {
    length = Math.max(Math.min(length, last - first), (last - first) / chart.input.length * 4);
    begin = Math.max(first, Math.min(from, last - length));
    end = begin + length;
    redraw();
  }

  const zoom = (factor, x) => show(x - (x - begin) * factor, (end - begin) * factor);
  const zoomMiddle = factor => factor === Infinity ? show(first, last - first) : zoom(factor, (begin + end) / 2);
  const move = share => show(begin + share * (end - begin), end - begin);

  /** Lowest and highest value within the view; intervals count as far as the range of all observations beyond it. */
  function limits() {
    const range = (input, arrays) => {
      const [from, to] = [indexOf(input, begin), indexOf(input, end) + 1];
      const values = arrays.flatMap(array => [...array.subarray(from, to)]).filter(Number.isFinite);
      return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    };
    const ranges = [range(chart.input, [chart.learnt, chart.heldOut]),
      ...parts().map(part => range(part.input, [part.lower, part.upper, part.mean]))];
    const low = Math.max(Math.min(...ranges.map(([low]) => low)), lowest);
    const high = Math.min(Math.max(...ranges.map(([, high]) => high)), highest);
    if (!(high > low)) return Number.isFinite(low) ? [low - 1, low + 1] : [-1, 1];
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  }

  function draw() {
    const pen = canvas.getContext("2d"), scale = devicePixelRatio || 1;
    [canvas.width, canvas.height] = [canvas.clientWidth * scale, HEIGHT * scale];
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas), ink = style.color, soft = style.getPropertyValue("--soft");
    const [low, high] = limits();
    const X = x => LEFT + width() * (x - begin) / ((end - begin) || 1);
    const Y = y => TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low);
    pen.font = `12px ${style.fontFamily}`;
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.fillStyle = soft;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const [y, text] of marks(low, high, 5)) {
      pen.fillText(text, LEFT - 6, Y(y));
      pen.fillRect(LEFT - 3, Y(y) - 0.5, 3, 1);
      line([[LEFT, Y(y)], [LEFT + width(), Y(y)]]);
    }
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    for (const [x, text] of (chart.dates ? dateMarks : marks)(begin, end, Math.max(2, width() / 90))) {
      pen.fillText(text, Math.max(LEFT, Math.min(X(x), LEFT + width() - pen.measureText(text).width / 2)), HEIGHT - 2);
      pen.fillRect(X(x) - 0.5, HEIGHT - BOTTOM, 1, 4);
    }
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, width(), HEIGHT - TOP - BOTTOM);
    pen.clip();
    pen.strokeStyle = soft;
    pen.setLineDash([1, 3]);
    for (const x of chart.tasks) line([[X(x), TOP], [X(x), HEIGHT - BOTTOM]]);
    pen.setLineDash([]);
    for (const part of parts()) band(part);
    dots(chart.learnt, soft, 1.1);
    for (const part of parts()) mean(part);
    dots(chart.heldOut, ink, 1.8);
    if (at !== null) line([[X(at), TOP], [X(at), HEIGHT - BOTTOM]]);
    pen.restore();

    function line(points) {
      pen.beginPath();
      for (const [x, y] of points) pen.lineTo(x, y);
      pen.stroke();
    }
    function visible(input) {
      const from = Math.max(0, indexOf(input, begin) - 1), to = Math.min(input.length, indexOf(input, end) + 1);
      return Array.from({length: to - from}, (_, n) => from + n);
    }
    function band({method, input, lower, upper}) {
      const rows = visible(input).filter(n => Number.isFinite(lower[n]) && Number.isFinite(upper[n]));
      pen.globalAlpha = 0.2;
      pen.fillStyle = methods[method].colour;
      pen.beginPath();
      for (const n of rows) pen.lineTo(X(input[n]), Y(upper[n]));
      for (const n of rows.reverse()) pen.lineTo(X(input[n]), Y(lower[n]));
      pen.fill();
      pen.globalAlpha = 1;
    }
    function mean({method, input, mean}) {
      pen.strokeStyle = methods[method].colour;
      pen.lineWidth = 1.5;
      pen.setLineDash(methods[method].dash);
      line(visible(input).filter(n => Number.isFinite(mean[n])).map(n => [X(input[n]), Y(mean[n])]));
      pen.setLineDash([]);
      pen.lineWidth = 1;
      pen.strokeStyle = soft;
    }
    function dots(values, colour, radius) {
      pen.fillStyle = colour;
      for (const n of visible(chart.input)) {
        pen.beginPath();
        pen.arc(X(chart.input[n]), Y(values[n]), radius, 0, 2 * Math.PI);
        if (Number.isFinite(values[n])) pen.fill();
      }
    }
  }

  /** Nearest row of some inputs. */
  function nearest(input, x) {
    const n = Math.min(indexOf(input, x), input.length - 1);
    return n > 0 && x - input[n - 1] < input[n] - x ? n - 1 : n;
  }

  const place = x => chart.dates ? new Date(x).toISOString().slice(0, 16).replace("T", " ") : short(x);

  function read() {
    if (at === null) return "";
    const n = nearest(chart.input, at), held = Number.isFinite(chart.heldOut[n]);
    const observed = short(held ? chart.heldOut[n] : chart.learnt[n]);
    const predicted = parts().map(({method, input, mean, lower, upper}) => {
      const k = nearest(input, chart.input[n]);
      return `${methods[method].label} ${short(mean[k])} (${short(lower[k])} to ${short(upper[k])})`;
    });
    return [place(chart.input[n]), `observed ${observed}${held ? ", held out" : ""}`, ...predicted].join(" · ");
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
      const units = chart.units ? ` (${chart.units})` : "";
      canvas.setAttribute("aria-label", `${chart.name}${units}, from ${place(begin)} to ${place(end)}`);
      output.textContent = read();
    });
  }

  for (const [number, {name, units}] of charts.entries())
    select.add(new Option(units ? `${name} (${units})` : name, number));
  select.parentElement.hidden = charts.length < 2;
  select.onchange = () => open(Number(select.value));
  for (const [number, {label, colour}] of methods.entries()) {
    const box = Object.assign(document.createElement("input"), {type: "checkbox", checked: true});
    box.style.accentColor = colour;
    box.onchange = () => { shown[box.checked ? "add" : "delete"](number); redraw(); };
    const outer = document.createElement("label");
    outer.append(box, ` ${label}`);
    if (methods.length > 1) figure.querySelector(".methods").append(outer);
  }
  for (const button of figure.querySelectorAll("button")) button.onclick = () => zoomMiddle(Number(button.dataset.zoom));

  const KEYS = {ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoomMiddle(0.5),
    "=": () => zoomMiddle(0.5), "-": () => zoomMiddle(2), "0": () => zoomMiddle(Infinity), Home: () => show(first, end - begin),
    End: () => show(last, end - begin)};
  canvas.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
    at = (begin + end) / 2;
  };
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;  // else the page scrolls
    event.preventDefault();
    zoom(1.002 ** event.deltaY, toInput(event.offsetX));
  }, {passive: false});
  canvas.onpointerdown = event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    at = toInput(event.offsetX);
    redraw();
  };
  canvas.onpointerup = canvas.onpointercancel = event => pointers.delete(event.pointerId);
  canvas.onpointermove = event => {
    const before = [...pointers.values()];
    at = toInput(event.offsetX);
    if (!pointers.has(event.pointerId)) { redraw(); return; }
    pointers.set(event.pointerId, event.offsetX);
    const now = [...pointers.values()], middle = values => values.reduce((sum, x) => sum + x, 0) / values.length;
    const spread = values => values.length > 1 ? Math.max(20, Math.abs(values[0] - values[1])) : 1;
    const anchor = toInput(middle(before)), length = (end - begin) * spread(before) / spread(now);
    show(anchor - length * (middle(now) - LEFT) / width(), length);
  };
  canvas.onpointerleave = () => { at = null; redraw(); };
  canvas.ondblclick = event => zoom(0.5, toInput(event.offsetX));

  figure.hidden = false;
  if (figure.nextElementSibling) figure.nextElementSibling.hidden = true;
  open(0);
  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").onchange = redraw;
}

for (const figure of document.querySelectorAll(".series")) explore(figure);
