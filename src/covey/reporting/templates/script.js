"use strict";

// Tables: a head that is pressed sorts its column, and the other way round when pressed again.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const first = numeric ? "descending" : "ascending";
      const other = numeric ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
      const key = (row) => {
        const cell = row.cells[place];
        return cell.dataset.by ?? cell.textContent;
      };
      const compare = numeric
        ? (a, b) => key(a) - key(b)
        : (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true });
      const sign = order === "ascending" ? 1 : -1;
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort((a, b) => sign * compare(a, b)));
    });
  });
}

// Charts: what browsers show late, and never on touch, is shown at once.
const tip = document.getElementById("tip");
let lit = null;

for (const title of document.querySelectorAll("svg title")) {
  const owner = title.parentNode;
  if (owner.localName === "svg") {
    owner.setAttribute("aria-label", title.textContent);
    owner.removeAttribute("aria-labelledby");
  } else {
    owner.dataset.tip = title.textContent;
  }
  title.remove();
}

function hide() {
  tip.hidden = true;
  if (lit) lit.classList.remove("lit");
  lit = null;
}

function show(event) {
  const over = event.target.closest("[data-tip]");
  const named = event.pointerType === "touch" ? event.target.closest(".name[title]") : null;
  if (!over && !named) return hide();
  hide();
  tip.textContent = over ? over.dataset.tip : named.title;
  tip.hidden = false;
  if (over && over.localName === "rect") {
    over.classList.add("lit");
    lit = over;
  }
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 12, innerWidth - box.width - 8);
  const below = event.clientY + 18;
  const top = below + box.height > innerHeight ? event.clientY - box.height - 12 : below;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", hide, { passive: true });
document.addEventListener("keydown", (event) => event.key === "Escape" && hide());

// What is for experts opens when a link, or the address of the page, leads into it.
const experts = document.getElementById("experts");
function unfold() {
  const wanted = location.hash ? document.getElementById(location.hash.slice(1)) : null;
  if (wanted && experts.contains(wanted) && !experts.open) {
    experts.open = true;
    wanted.scrollIntoView();
  }
}
addEventListener("hashchange", unfold);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const wanted = link ? document.getElementById(link.hash.slice(1)) : null;
  if (wanted && experts.contains(wanted)) experts.open = true;
});
unfold();

{% include "threshold.js" %}

// Contents: open beside the page, closed above it; they say where the reader is.
const contents = document.querySelector("nav details");
const wide = matchMedia("(min-width: 1180px)");
const fit = () => { contents.open = wide.matches; };
fit();
wide.addEventListener("change", fit);
if ("IntersectionObserver" in window) {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => watch.observe(section));
}
