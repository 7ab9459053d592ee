(() => {
  const MOST_HANDLES = 7, MOST_CATEGORIES = 20, PAUSE = 600, HEIGHT = 320, STEPS = 40;
  const SVG = "http://www.w3.org/2000/svg";

  /* What was drawn so far: columns with the wanted effects at all their values, and the places of
     the points that were moved. A change makes a new list, so that the old one can come back. */
  let drawn = [], earlier = [];
  /* The effect that is shown, as the server told it; the corrections that it is of; what of it is
     drawn but not yet told to the server. */
  let told = null, draft = null, asking = null, timer = 0, busy = false;

  const column = () => facts.columns[Number(byId("column").value)];
  const chosen = () => classes ? facts.classes[byId("label").value] : null;
  const isNumber = () => typeof told.values[0] === "number";
  const own = () => drawn.find((one) => one.column === column() && one.label === chosen());
  const wanted = () => (draft || own() || { wanted: told.before }).wanted;

  // -- what the server is asked -------------------------------------------------------------

  /* Numbers go from the point before the first one that was moved to the one behind the last:
     beyond them the curve keeps its shape. Categories that are not named keep their effects. */
  function corrections() {
    return drawn.map((one) => {
      let places = one.moved;
      if (typeof one.values[0] === "number") {
        const at = one.handles.map((place) => one.moved.includes(place));
        const first = one.handles[Math.max(0, at.indexOf(true) - 1)];
        const last = one.handles[Math.min(one.handles.length - 1, at.lastIndexOf(true) + 1)];
        places = one.values.map((_, place) => place).filter((place) => first <= place && place <= last);
      }
      return { column: one.column, label: one.label, points: places.map((place) => [one.values[place], one.wanted[place]]) };
    });
  }
  const send = (save, signal) => ask("edit", { column: column(), label: chosen(), corrections: corrections(), save },
    signal, { "Covey-Key": location.hash.slice(1) });

  function trouble(text) {
    byId("trouble").textContent = text;
    byId("trouble").hidden = !text;
  }

  async function refresh() {
    if (asking) asking.abort();
    const mine = asking = new AbortController(), of = key();
    busy = true;
    buttons();
    byId("cost").textContent = drawn.length ? "Measuring ..." : "";
    try {
      told = await send(false, mine.signal);
      told.of = of;
      told.shown = isNumber() ? told.values.length : Math.min(told.values.length, MOST_CATEGORIES);
      trouble("");
      busy = false;
      build();
      showCost();
    } catch (error) {
      if (error.name === "AbortError" || mine !== asking) return;
      byId("cost").textContent = "";
      if (told === null || told.of !== key()) byId("chart").replaceChildren();
      trouble(error.message);
    }
    buttons();
  }
  const key = () => JSON.stringify([column(), chosen()]);

  function showCost() {
    const cost = !drawn.length ? "Nothing yet: nothing was corrected."
      : told.cost ? `${told.cost}.` : "The cost is not known: start covey serve with --table to measure it on rows with their true values.";
    byId("cost").textContent = cost;
    byId("done").replaceChildren(...told.corrections.map((text) => make("li", { text, dir: "auto" })));
    byId("record").hidden = !drawn.length;
  }

  function buttons() {
    byId("undo").disabled = !earlier.length;
    byId("save").disabled = busy || !drawn.length;
  }

  async function save() {
    byId("save").disabled = true;
    try {
      byId("saved").textContent = (await send(true)).saved;
      trouble("");
    } catch (error) {
      trouble(error.message);
    }
    buttons();
  }

  // -- what is drawn ------------------------------------------------------------------------

  function handles() {
    const n = told.shown, k = isNumber() ? Math.min(n, MOST_HANDLES) : n;
    if (n <= 9) return told.values.slice(0, n).map((_, place) => place);
    return Array.from({ length: k }, (_, i) => Math.round(i * (n - 1) / (k - 1)));
  }

  /* Move a point; between it and the points beside it the curve bends in proportion. */
  function move(place, to) {
    if (told.of !== key()) return;
    if (asking) asking.abort();
    clearTimeout(timer);
    const list = handles(), at = list.indexOf(place), now = wanted(), by = to - now[place];
    const low = list[at - 1] ?? place, high = list[at + 1] ?? place, values = told.values;
    const next = now.map((old, i) => {
      if (i === place) return to;
      if (!isNumber() || i <= low || i >= high) return old;
      const end = i < place ? low : high;
      return old + by * (values[i] - values[end]) / (values[place] - values[end]);
    });
    const moved = [...new Set([...(draft || own() || { moved: [] }).moved, place])].sort((a, b) => a - b);
    draft = { column: column(), label: chosen(), values, handles: list, wanted: next, moved };
    position();
    say(place);
  }

  function commit() {
    clearTimeout(timer);
    if (!draft) return;
    earlier.push(drawn);
    const old = own();
    drawn = old ? drawn.map((one) => one === old ? draft : one) : [...drawn, draft];
    draft = null;
    byId("saved").textContent = "";
    refresh();
  }

  // -- the curve ----------------------------------------------------------------------------

  let frame = null, parts = null;

  function draw(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const nameOf = (place) => isNumber() ? number(told.values[place]) : String(told.values[place]);
  const valueOf = (place) => `${column()} ${nameOf(place)}: ${moved(wanted()[place])}, served as ${moved(told.before[place])}`;
  const say = (place) => { byId("readout").textContent = place === null ? "\u00a0" : valueOf(place); };
  /* A line through numbers; categories, which have no order, have a stroke each. */
  const line = (curve) => curve.slice(0, told.shown).map((y, i) => isNumber()
    ? `${i ? "L" : "M"}${frame.x(i)} ${frame.y(y)}` : `M${frame.x(i) - 14} ${frame.y(y)}h28`).join("");

  /* The effect as it is now, at the level of what was drawn: only differences are effects. */
  function reached() {
    const goal = (own() || { wanted: told.before }).wanted;
    const level = goal.reduce((sum, y, i) => sum + y - told.now[i], 0) / goal.length;
    return told.now.map((y) => y + level);
  }

  function ticks(low, high) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((one) => one * power >= rough) || 10);
    const first = Math.ceil(low / step), made = [];
    for (let i = first; i * step <= high; i += 1) made.push(Number((i * step).toPrecision(6)));
    return made;
  }

  function build() {
    const focused = document.activeElement?.dataset?.place, n = told.shown;
    const numeric = isNumber(), list = handles();
    const width = Math.max(byId("chart").clientWidth, numeric ? 0 : 80 + 40 * n);
    const most = Math.max(...list.map((i) => Math.min(14, nameOf(i).length)));
    const left = numeric ? 58 : 76, right = 22, top = 16, bottom = numeric ? 34 : 30 + 5 * most;
    const all = [...told.before.slice(0, n), ...wanted().slice(0, n), ...reached().slice(0, n)];
    const low = Math.min(...all), high = Math.max(...all), room = Math.max(0.5 * (high - low), facts.scale);
    frame = { low: low - room, high: high + room, top, bottom: HEIGHT - bottom };
    frame.x = (i) => n > 1 ? left + (width - left - right) * i / (n - 1) : (left + width - right) / 2;
    frame.y = (y) => top + (frame.bottom - top) * (frame.high - y) / (frame.high - frame.low);
    const svg = draw("svg", { width, height: HEIGHT, role: "group", "aria-label": `The effect of ${column()}` });
    for (const y of ticks(frame.low, frame.high)) {
      const size = number(Math.abs(classes ? 100 * y : y)), text = size === "0" ? size : `${y < 0 ? "\u2212" : "+"}${size}`;
      svg.append(draw("line", { class: y === 0 ? "zero" : "grid", x1: 52, x2: width - right + 6, y1: frame.y(y), y2: frame.y(y) }),
        draw("text", { x: 48, y: frame.y(y) + 4, "text-anchor": "end" }, text));
    }
    let end = -Infinity;
    for (const i of list) {
      const name = nameOf(i), half = 3.6 * name.length;
      if (!numeric) {
        const short = name.length > 14 ? `${name.slice(0, 13)}\u2026` : name;
        svg.append(draw("text", { x: 0, y: 0, "text-anchor": "end", transform: `translate(${frame.x(i) + 4} ${frame.bottom + 16}) rotate(-45)` }, short));
      } else if (frame.x(i) - half > end + 6) {
        end = frame.x(i) + half;
        svg.append(draw("text", { x: Math.min(frame.x(i), width - half - 1), y: frame.bottom + 24, "text-anchor": "middle" }, name));
      }
    }
    parts = { now: draw("path", { class: "now" }), points: new Map() };
    const apart = reached().some((y, i) => Math.abs(y - wanted()[i]) > 0.02 * (frame.high - frame.low));
    byId("reached").hidden = !apart;
    svg.append(draw("path", { class: "was", d: line(told.before) }), parts.now);
    if (apart) svg.append(draw("path", { class: "reached", d: line(reached()) }));
    for (const i of list) svg.append(handle(i));
    byId("chart").replaceChildren(svg);
    position();
    say(null);
    if (focused !== undefined) parts.points.get(Number(focused))?.focus({ preventScroll: true });
    const rest = told.values.length - n;
    byId("effect-head").textContent = `Effect of ${column()}`;
    byId("effect-note").textContent = `${classes ? `On the probability of ${label(chosen())}, in points` : `On ${facts.predicts}`}, among rows that are alike otherwise. `
      + (numeric ? "About as many rows lie between any two neighbors of the curve. " : "")
      + (rest > 0 ? `The ${n} most frequent categories of ${told.values.length}; the others keep their effects. ` : "")
      + "Only differences count: the mean prediction stays. Drag a point, or choose it with Tab and press the arrow keys.";
  }

  function position() {
    parts.now.setAttribute("d", line(wanted()));
    for (const [i, one] of parts.points) {
      const y = wanted()[i];
      one.setAttribute("transform", `translate(${frame.x(i)} ${frame.y(y)})`);
      one.setAttribute("aria-valuenow", y);
      one.setAttribute("aria-valuetext", valueOf(i));
    }
  }

  function handle(i) {
    const made = draw("g", { class: "handle", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-label": `${column()} ${nameOf(i)}`,
      "aria-valuemin": frame.low, "aria-valuemax": frame.high, "data-place": i },
    draw("circle", { class: "hit", r: 20 }), draw("circle", { class: "dot", r: 8 }));
    const within = (y) => Math.min(frame.high, Math.max(frame.low, y));
    let from = null;
    made.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      made.setPointerCapture(event.pointerId);
      from = { y: event.clientY, value: wanted()[i] };
      say(i);
    });
    made.addEventListener("pointermove", (event) => {
      if (from) move(i, within(from.value - (event.clientY - from.y) * (frame.high - frame.low) / (frame.bottom - frame.top)));
    });
    for (const end of ["pointerup", "pointercancel"]) made.addEventListener(end, () => { from = null; commit(); });
    made.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      if (!by) return;
      event.preventDefault();
      move(i, within(wanted()[i] + by * (frame.high - frame.low) / STEPS));
      timer = setTimeout(commit, PAUSE);
    });
    made.addEventListener("focus", () => say(i));
    made.addEventListener("blur", commit);
    parts.points.set(i, made);
    return made;
  }

  // -- begin --------------------------------------------------------------------------------

  facts.columns.forEach((name, place) => byId("column").append(make("option", { value: place, text: name })));
  (facts.classes || []).forEach((one, place) => byId("label").append(make("option", { value: place, text: label(one) })));
  byId("label").value = String((facts.classes || []).length - 1);
  byId("label-field").hidden = !classes || facts.classes.length < 3;
  for (const id of ["column", "label"]) byId(id).addEventListener("change", refresh);
  byId("form").addEventListener("submit", (event) => event.preventDefault());
  byId("undo").addEventListener("click", () => {
    drawn = earlier.pop() || [];
    byId("saved").textContent = "";
    refresh();
  });
  byId("save").addEventListener("click", save);
  window.addEventListener("hashchange", refresh);
  let width = 0;
  new ResizeObserver(() => {
    if (!told || draft || told.of !== key() || byId("chart").clientWidth === width) return;
    width = byId("chart").clientWidth;
    build();
  }).observe(byId("chart"));
  refresh();
})();
