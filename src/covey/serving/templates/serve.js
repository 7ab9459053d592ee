(() => {
  const SHOWN_FIELDS = 12, SHOWN_REASONS = 7, SHOWN_CLASSES = 5, LEVEL = 0.9, PAUSE = 150;

  // -- numbers and words ----------------------------------------------------------------

  function percent(share) {
    const value = 100 * share;
    if (value > 99.9 && value < 100) return "99.9 %";
    if (value > 0 && value < 0.1) return "below 0.1 %";
    return `${Number(value.toPrecision(value < 10 ? 2 : 3))} %`;
  }
  function words(answer) {
    const said = [[0.99, "almost certainly "], [0.9, "very likely "], [0.75, "likely "], [0.6, "rather "]]
      .find((one) => answer.probability >= one[0]);
    if (said) return said[1] + label(answer.prediction);
    const most = Math.max(...Object.values(answer.probabilities));
    return answer.probability < most
      ? `not the most probable class; ${label(answer.prediction)} is what it was told to say`
      : `a close call, ${label(answer.prediction)} by a little`;
  }
  function sentence(found) {
    if (!found.changes) return "No change of one or two columns to values that the model has seen does that.";
    const moves = found.changes.map((one) => `${one.column} were ${number(one.to)} instead of ${number(one.value)}`);
    return `If ${moves.join(" and ")}, the answer would be ${short(found)}.`;
  }
  const short = (answer) => classes
    ? `${label(answer.prediction)}, ${percent(answer.probability)}` : number(answer.prediction);

  // -- the form -------------------------------------------------------------------------

  const columns = facts.columns.slice().sort((a, b) => (b.share || 0) - (a.share || 0));
  const controls = new Map();

  function hintOf(column) {
    const parts = [];
    if (column.kind !== "text" && column.kind !== "category" && column.typical !== null) {
      parts.push(`typical ${number(column.typical)}`);
    }
    if (column.low !== null && column.high !== null) {
      parts.push(`seen ${number(column.low)} to ${number(column.high)}`);
    }
    if (!column.used) parts.push("the model does not look at it");
    return parts.join("; ");
  }

  function addField(column, position, parent) {
    const id = `field-${position}`, hint = hintOf(column);
    const label = make("label", { for: id, text: column.name, dir: "auto" });
    const field = make("div", { class: "field" }, label);
    const common = { id, "aria-describedby": hint ? `${id}-hint` : undefined };
    let control, slider = null;
    if (column.kind === "category") {
      control = make("select", common, make("option", { value: "", text: "not known" }));
      column.categories.forEach((word, place) => control.append(
        make("option", { value: String(place), text: word, dir: "auto" })));
    } else if (column.kind === "date") {
      control = make("input", { ...common, type: column.clock ? "datetime-local" : "date", step: column.clock ? 1 : undefined });
    } else if (column.kind === "text") {
      control = make("textarea", { ...common, rows: 2, dir: "auto", maxlength: 10000 });
    } else {
      control = make("input", { ...common, type: "number", step: "any" });
    }
    field.append(control);
    if (column.kind === "number" && column.low !== null && column.high > column.low) {
      const step = column.whole ? 1 : "any";
      slider = make("input", { type: "range", min: column.low, max: column.high, step, "aria-label": `${column.name}, slider` });
      slider.addEventListener("input", () => {
        control.value = number(column.whole ? Math.round(slider.value) : Number(Number(slider.value).toPrecision(4)));
        changed();
      });
      field.append(slider);
    }
    if (hint) field.append(make("p", { class: "hint", id: `${id}-hint`, text: hint }));
    const wrong = make("p", { class: "wrong", hidden: true, id: `${id}-wrong` });
    field.append(wrong);
    control.addEventListener("input", () => changed());
    controls.set(column.name, { column, control, slider, field, wrong });
    parent.append(field);
  }

  /* The browser reads numbers and dates, and says what is wrong with them. */
  function read({ column, control, wrong }) {
    wrong.textContent = control.validationMessage;
    wrong.hidden = control.validity.valid;
    if (!control.validity.valid) return undefined;
    const text = control.value.trim();
    if (text === "") return null;
    if (column.kind === "category") return column.categories[Number(text)];
    if (column.kind === "number") return control.valueAsNumber;
    return column.kind === "date" && !column.clock ? `${text}T00:00:00` : control.value;
  }

  function write({ column, control, slider }, value) {
    if (value === null || value === undefined) control.value = "";
    else if (column.kind === "category") {
      const place = column.categories.indexOf(String(value));
      control.value = place < 0 ? "" : String(place);
    } else if (column.kind === "date") {
      const [day, time] = String(value).replace(" ", "T").split("T");
      control.value = column.clock ? `${day}T${(time || "00:00").slice(0, 8)}` : day;
    } else control.value = String(value);
    if (slider && typeof value === "number") slider.value = value;
  }

  function row() {
    const made = {};
    for (const [name, one] of controls) {
      const value = read(one);
      if (value === undefined) return null;
      made[name] = value;
      if (one.slider && value !== null) one.slider.value = value;
    }
    return made;
  }

  function fill(values) {
    for (const [name, one] of controls) write(one, values[name]);
  }

  // -- asking ---------------------------------------------------------------------------

  let pinned = null, current = null, timer = 0, asking = null;

  /* The answer and why; of a model whose reasons take too long to find, the answer alone. */
  let reasonsTakeTooLong = "";
  async function askWhy(body, signal) {
    if (!reasonsTakeTooLong) {
      try {
        return await ask("explain", body, signal);
      } catch (error) {
        if (error.status !== 503) throw error;
        reasonsTakeTooLong = error.message;
      }
    }
    const { row: asked, ...rest } = body;
    const told = await ask("predict", { rows: [asked], ...rest }, signal);
    return { answer: told.predictions[0], baseline: null, because: [], against: [], members: [] };
  }

  function trouble(text) {
    byId("trouble").textContent = text;
    byId("trouble").hidden = !text;
  }

  function changed(pause = PAUSE) {
    clearTimeout(timer);
    timer = setTimeout(refresh, pause);
  }

  async function refresh() {
    const asked = row();
    if (asking) asking.abort();
    if (asked === null) {
      trouble("One of the fields cannot be read; the answer below is the one before.");
      return;
    }
    asking = new AbortController();
    const body = { row: asked };
    if (facts.levels) body.level = LEVEL;
    try {
      const told = await askWhy(body, asking.signal);
      current = { row: asked, told };
      if (!pinned) pinned = current;
      trouble("");
      show();
    } catch (error) {
      if (error.name !== "AbortError") trouble(error.message);
    }
  }

  // -- showing --------------------------------------------------------------------------

  function bar(name, small, text, from, to, against, two) {
    const line = make("span", { class: against ? "against" : undefined });
    line.style.left = `${100 * Math.min(from, to)}%`;
    line.style.width = `${100 * Math.abs(to - from)}%`;
    const label = make("div", { class: "name", dir: "auto", text: name });
    if (small) label.append(make("small", { text: small, dir: "auto" }));
    return make("li", {}, label,
      make("div", { class: two ? "track two" : "track", "aria-hidden": "true" }, line),
      make("div", { class: "number", text }));
  }

  function show() {
    const { told } = current, answer = told.answer;
    const verdict = byId("verdict");
    verdict.replaceChildren(make("div", { class: "what", dir: "auto", text: classes ? label(answer.prediction) : number(answer.prediction) }));
    if (classes) verdict.append(make("div", { class: "sure", dir: "auto", text: `${percent(answer.probability)}: ${words(answer)}` }));
    byId("bar").textContent = short(answer);
    byId("bar").hidden = false;
    showCompared(answer);
    showClasses(answer);
    showPromise(answer);
    byId("remarks").replaceChildren(...answer.remarks.map((text) => make("li", { text, dir: "auto" })));
    showWhy(told);
    showWho(told);
    byId("smallest").replaceChildren();
    byId("curl").textContent = `curl ${location.origin}/predict -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify({ rows: [current.row] }).replaceAll("'", "'\\''")}'`;
  }

  function showCompared(answer) {
    const changes = [...controls.keys()].filter((name) => pinned.row[name] !== current.row[name]);
    for (const [name, one] of controls) one.field.classList.toggle("changed", changes.includes(name));
    const line = byId("compared"), before = pinned.told.answer;
    byId("again").hidden = !changes.length;
    if (!changes.length) return;
    line.replaceChildren(`Before ${changes.length === 1 ? "the change" : `the ${changes.length} changes`}: `,
      make("strong", { text: short(before), dir: "auto" }), ". Now: ", make("strong", { text: short(answer), dir: "auto" }), ".");
  }

  function showClasses(answer) {
    const place = byId("classes");
    if (!classes) { place.replaceChildren(); return; }
    const all = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]);
    const list = make("ol", { class: "bars", "aria-label": "Probability of each class" });
    for (const [name, share] of all.slice(0, SHOWN_CLASSES)) list.append(bar(name, "", percent(share), 0, share));
    place.replaceChildren(list);
    const left = all.slice(SHOWN_CLASSES);
    if (left.length) {
      const sum = left.reduce((total, one) => total + one[1], 0);
      list.append(bar(`${left.length} other classes`, "", percent(sum), 0, sum));
    }
  }

  function showPromise(answer) {
    let text = "";
    if (answer.set && answer.set.length < facts.classes.length) {
      text = `The model leaves open: ${answer.set.map(label).join(", ")}. Of rows like those the model was made from, the truth is among what it leaves open 9 times of 10.`;
    } else if (answer.set) {
      text = "To be right 9 times of 10, no class can be left out here.";
    } else if (answer.low !== undefined && answer.low !== null && answer.high !== null) {
      text = `9 times of 10 the truth lies between ${number(answer.low)} and ${number(answer.high)}, of rows like those the model was made from.`;
    }
    byId("promise").textContent = text;
  }

  function showWhy(told) {
    const reasons = [...told.because, ...told.against].sort((a, b) => Math.abs(b.push) - Math.abs(a.push));
    const note = byId("why-note");
    if (told.baseline === null) {
      note.textContent = reasonsTakeTooLong;
      byId("why").replaceChildren();
      byId("why-more").hidden = true;
      return;
    }
    const what = classes ? `the probability of ${label(told.answer.prediction)}` : "the number";
    const start = classes ? percent(told.baseline) : number(told.baseline);
    const end = classes ? percent(told.answer.probability) : number(told.answer.prediction);
    note.textContent = reasons.length
      ? `On average ${what} is ${start}. From there each column moves it, to ${end} for this row.`
      : `On average ${what} is ${start}, and nothing in this row moves it.`;
    const most = Math.max(...reasons.map((one) => Math.abs(one.push)), 1e-12);
    const bars = reasons.map((one) => {
      const half = 0.5 * one.push / most;
      return bar(one.column, `${number(one.value)} (typical: ${number(one.typical)})`, moved(one.push),
        0.5, 0.5 + half, one.push < 0, true);
    });
    byId("why").replaceChildren(...bars.slice(0, SHOWN_REASONS));
    const more = byId("why-more"), rest = bars.slice(SHOWN_REASONS);
    more.hidden = !rest.length;
    more.firstElementChild.textContent = `${rest.length} more`;
    more.lastElementChild.replaceChildren(...rest);
  }

  function showWho(told) {
    const members = told.members.filter((one) => one.weight > 0);
    byId("who-note").textContent = members.length
      ? "The weight is how much each member counts for this row; those that count most come first."
      : reasonsTakeTooLong || "No member can be named: there is none, or what some say lies beyond all that was seen and cancels out.";
    byId("who").replaceChildren(...members.map((one) => bar(one.name || `member ${one.member}`,
      classes ? `says ${label(one.prediction)}${one.probability === null ? "" : `, ${percent(one.probability)}`}` : `says ${number(one.prediction)}`,
      percent(one.weight), 0, Math.min(1, Math.max(0, one.weight)))));
  }

  async function findSmallest() {
    const place = byId("smallest"), button = byId("find");
    if (!current) return;
    const asked = current;
    const fixed = [...document.querySelectorAll("#fixed input:checked")].map((box) => columns[Number(box.value)].name);
    const body = { row: asked.row, fixed };
    if (!classes) {
      const reach = byId("reach");
      if (!reach.reportValidity()) return;
      body.to = reach.valueAsNumber;
    }
    button.disabled = true;
    place.replaceChildren(make("p", { text: "Looking ..." }));
    try {
      const told = await ask("smallest-change", body);
      if (asked !== current) return;
      if (!told.changes) {
        place.replaceChildren(make("p", { text: sentence(told), dir: "auto" }));
        return;
      }
      const take = make("button", { type: "button", text: "Try it" });
      take.addEventListener("click", () => {
        for (const one of told.changes) write(controls.get(one.column), one.to);
        changed(0);
      });
      place.replaceChildren(make("p", { text: sentence(told), dir: "auto" }), make("p", {}, take));
    } catch (error) {
      place.replaceChildren(make("p", { class: "trouble", text: error.message }));
    } finally {
      button.disabled = false;
    }
  }

  // -- begin ----------------------------------------------------------------------------

  function about() {
    const parts = [];
    const rows = facts.rows ? ` learnt from ${facts.rows.toLocaleString("en")} rows` : "";
    const used = columns.filter((one) => one.used).length;
    parts.push(`A model${rows} looks at ${used === columns.length ? "" : `${used} of `}${columns.length} column${columns.length === 1 ? "" : "s"}.`);
    if (facts.size) parts.push(facts.size);
    byId("about").textContent = parts.join(" ");
  }

  about();
  const looked = columns.filter((one) => one.used);
  const first = (looked.length ? looked : columns).slice(0, SHOWN_FIELDS);
  const later = columns.filter((one) => !first.includes(one));
  columns.forEach((column, position) => addField(column, position, first.includes(column) ? byId("fields") : byId("rest")));
  if (later.length) {
    byId("more").hidden = false;
    const unused = later.every((one) => !one.used);
    byId("more").firstElementChild.textContent = `${later.length} more column${later.length === 1 ? "" : "s"}, which the model ${unused ? "does not look at" : "looks at less"}`;
  }
  columns.forEach((column, position) => byId("fixed").append(make("label", {},
    make("input", { type: "checkbox", value: position }), make("span", { text: column.name, dir: "auto" }))));
  byId("reach-field").hidden = classes;
  fill(Object.fromEntries(columns.map((column) => [column.name, column.typical])));
  byId("form").addEventListener("submit", (event) => { event.preventDefault(); changed(0); });
  byId("reset").addEventListener("click", () => { if (pinned) { fill(pinned.row); changed(0); } });
  byId("pin").addEventListener("click", () => { pinned = current; show(); });
  byId("find").addEventListener("click", findSmallest);
  refresh();
})();
