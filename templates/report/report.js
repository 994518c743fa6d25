"use strict";
(() => {
  const root = document.documentElement;
  const { figures } = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");

  // Light or dark as the reader's system is until it is chosen, here or by the page that this one is a frame of.
  const framed = /^#(light|dark)$/;
  const shown = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const label = () => {
    theme.textContent = shown() === "dark" ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(shown() === "dark"));
  };
  const follow = () => {
    const found = location.hash.match(framed);
    if (found) root.dataset.theme = found[1];
    theme.hidden = Boolean(found);
    label();
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    label();
  });
  dark.addEventListener("change", label);
  addEventListener("hashchange", follow);
  follow();

  const buttons = [...document.querySelectorAll("[data-part]")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      for (const each of document.querySelectorAll("[data-of]")) each.hidden = each.dataset.of !== button.dataset.part;
    });
  }
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });

  const digits = (value) => value.toPrecision(4).replace(/\.?0+$/, "");
  // A share of an axis -> its value, and that in words.
  const value = ({ low, high }, share, logarithmic) => logarithmic ? low * (high / low) ** share : low + (high - low) * share;
  const layout = (figure, places) => places.map((place) => figure.words[place]).join(" · ");

  // The numbers of each subpath of a path, read once: x, y and for a rectangle its width and height.
  const read = new WeakMap();
  const pieces = (path) => {
    if (!read.has(path)) {
      const found = [...path.getAttribute("d").matchAll(/M(\d+) (\d+)h(\d+)(?:v(\d+))?/g)];
      read.set(path, found.map(([, ...numbers]) => numbers.map(Number)));
    }
    return read.get(path);
  };

  // What a chart says at a place, x and y as shares of its sides; each kind of chart has its own way. Null: nothing.
  const tellers = {
    points(figure, element, x, y, box) {
      let best = null, least = 18;
      const { width: wide, height: high } = element.querySelector("svg").viewBox.baseVal;
      element.querySelectorAll("path.dots:not(.hollow)").forEach((path, set) => pieces(path).forEach(([px, py], place) => {
        const apart = Math.hypot((px / wide - x) * box.width, (py / high - y) * box.height);
        if (apart <= least) [best, least] = [{ set, place, px: px / wide, py: py / high }, apart];
      }));
      if (!best) return null;
      const one = figure.sets[best.set][best.place];
      if (!Array.isArray(one)) return `${one.text}\n${layout(figure, one.layout)}`;
      const seconds = digits(value(figure.y, 1 - best.py, true)), size = digits(value(figure.x, best.px, false));
      return `${figure.names[best.set]}: ${seconds} ${figure.y.unit}, ${size} ${figure.x.unit}\n${layout(figure, one)}`;
    },
    columns: (figure, element, x) => figure.words[Math.min(figure.words.length - 1, Math.floor(x * figure.words.length))],
    spans(figure, element, x, y) {
      const { width: wide, height: high } = element.querySelector("svg").viewBox.baseVal;
      const paths = [...element.querySelectorAll("path.bars")];
      for (const [kind, path] of paths.entries()) {
        const place = pieces(path).findIndex(([left, top, width, height]) =>
          left <= x * wide && x * wide <= left + width && top <= y * high && y * high <= top + height);
        if (place < 0) continue;
        const [left, top, width] = pieces(path)[place], unit = figure.seconds / wide;
        const what = figure.sets[kind].split(";")[place];
        return `${figure.names[kind]}${what}\nrank ${Math.floor(top / 10)}, from ${digits(left * unit)} s, ${digits(width * unit)} s`;
      }
      return null;
    },
    grid(figure, element, x, y) {
      const line = Math.floor(y * figure.lines), gpu = line % (figure.perNode + 1);
      const node = Math.floor(line / (figure.perNode + 1)) * figure.wide + Math.floor(x * figure.wide);
      const rank = node * figure.perNode + gpu;
      if (gpu >= figure.perNode || rank >= figure.gpus) return null;
      const groups = figure.colourings.map((one) =>
        `${one.name} ${one.name === "pp" ? "stage" : "group"} ${Math.floor(rank / one.block) * one.stride + rank % one.stride}`);
      return [`node ${node}, GPU ${gpu}, rank ${rank}`, ...groups].join("\n");
    },
  };

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const tell = (event, element, figure) => {
    const box = element.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
    const text = x < 0 || x >= 1 || y < 0 || y >= 1 ? null : tellers[figure.kind](figure, element, x, y, box);
    if (!text) return hide();
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18, above = event.clientY - tip.offsetHeight - 12;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below + tip.offsetHeight < innerHeight ? below : Math.max(8, above)}px`;
  };
  for (const element of document.querySelectorAll("[data-figure]")) {
    const figure = figures[element.dataset.figure];
    if (!figure) continue;
    element.addEventListener("pointermove", (event) => tell(event, element, figure));
    element.addEventListener("pointerdown", (event) => tell(event, element, figure));
    element.addEventListener("pointerleave", hide);
  }
  addEventListener("scroll", hide, { passive: true });
  root.dataset.ready = "true";
})();
