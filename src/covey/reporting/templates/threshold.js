// A threshold to move: counts of all rows are in the page, so that nothing is asked of anybody.
for (const panel of document.querySelectorAll(".threshold")) {
  const counts = JSON.parse(panel.dataset.counts);
  const choice = panel.querySelector("select");
  const slider = panel.querySelector("input");
  const shows = new Map([...panel.querySelectorAll("[data-shows]")].map((one) => [one.dataset.shows, one]));
  const whole = new Intl.NumberFormat("en-US");
  // As the page writes shares elsewhere: whole per cent, with a decimal close to none or all.
  const share = (part, all) => {
    if (!all) return "none";
    const value = 100 * part / all;
    if (value > 0 && value < 0.1) return "<\u00a00.1\u00a0%";
    const fine = (value > 0 && value < 9.95) || (value > 99 && value < 100);
    const text = fine ? Math.min(value, 99.9).toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
    return `${text}\u00a0%`;
  };
  const ends = { left: 38, top: 6, side: 176 };
  const x = (value) => (ends.left + ends.side * value).toFixed(1);
  const y = (value) => (ends.top + ends.side * (1 - value)).toFixed(1);
  const curve = {
    roc: (one, k) => [one.false[k] / one.others, one.found[k] / one.n],
    pr: (one, k) => {
      // Where nothing is called any more, it stays as it was.
      let last = k;
      while (last > 0 && !(one.found[last] + one.false[last])) last -= 1;
      return [one.found[k] / one.n, one.found[last] / (one.found[last] + one.false[last])];
    },
  };

  function move() {
    const one = counts[choice.value];
    const k = Number(slider.value);
    const called = one.found[k] + one.false[k];
    const said = {
      at: share(one.at[k], 1),
      name: one.name,
      "found-share": share(one.found[k], one.n),
      found: whole.format(one.found[k]),
      n: whole.format(one.n),
      "false-share": share(one.false[k], called),
      false: whole.format(one.false[k]),
      called: whole.format(called),
      ...(one.cost.length && { cost: one.cost[k] }),
    };
    for (const [key, text] of Object.entries(said)) shows.get(key).textContent = text;
    slider.setAttribute("aria-valuetext", said.at);
    for (const [kind, point] of Object.entries(curve)) {
      const mark = panel.querySelector(`.curve-${kind} .moves`);
      const [across, up] = point(one, k);
      mark.setAttribute("cx", x(across));
      mark.setAttribute("cy", y(up));
    }
  }

  function choose() {
    const one = counts[choice.value];
    slider.max = one.at.length - 1;
    slider.value = one.start;
    for (const [kind, point] of Object.entries(curve)) {
      const points = one.at.map((_, k) => point(one, k).map((v, axis) => (axis ? y(v) : x(v))).join(","));
      panel.querySelector(`.curve-${kind} polyline`).setAttribute("points", points.join(" "));
    }
    const guess = panel.querySelector(".guess.pr line");
    const height = y(one.n / (one.n + one.others));
    guess.setAttribute("y1", height);
    guess.setAttribute("y2", height);
    move();
  }

  slider.addEventListener("input", move);
  choice.addEventListener("change", choose);
}
