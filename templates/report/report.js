"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = new Set();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  // The same value with each text such as "$ink" replaced by that colour of the style.
  const coloured = (value, colours) => {
    if (typeof value === "string") {
      if (!/^\$[a-z]+[0-9]?$/.test(value)) return value;
      if (!(value in colours)) colours[value] = colour(value.slice(1)) || value;
      return colours[value];
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "number" && typeof value[value.length - 1] === "number" ? value : value.map((each) => coloured(each, colours));
    }
    if (value && typeof value === "object") {
      const found = {};
      for (const key of Object.keys(value)) {
        found[key] = key === "customdata" ? value[key] : coloured(value[key], colours);
      }
      return found;
    }
    return value;
  };

  const setTheme = (name) => {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(name === "dark"));
  };

  const text = (count, one) => count.toLocaleString("en-US") + " " + one + (count === 1 ? "" : "s");

  // What a colouring of the grid means, in words.
  const told = (each) => each.name === "pp"
    ? `Each cell is a GPU. ${text(each.groups, "pipeline stage")}; GPUs of one stage ${each.meaning}.`
    : `Each cell is a GPU. ${text(each.groups, each.name + " group")} of ${text(each.size, "GPU")}, which ${each.meaning}.`
      + (each.groups > 8 ? " Colours repeat." : "");

  const gridOf = (key) => {
    const figure = data.figures[key];
    const now = figure.now || 0;
    const { gpus, palette, per_node: size, wide, rows, colourings } = figure.meta;
    const each = colourings[now];
    // Nodes are in rows, with an empty line of cells between two of them.
    const cells = (of) => Array.from({ length: rows * (size + 1) - 1 }, (_, y) => Array.from({ length: wide }, (_, x) => {
      const node = Math.floor(y / (size + 1)) * wide + x, gpu = y % (size + 1), rank = node * size + gpu;
      return gpu < size && rank < gpus ? of(node, gpu, rank) : null;
    }));
    const group = (one, rank) => Math.floor(rank / one.block) * one.stride + rank % one.stride;
    const named = (one, rank) => `${one.name} ${one.name === "pp" ? "stage" : "group"} ${group(one, rank)}`;
    const z = cells((node, gpu, rank) => group(each, rank) % palette);
    const about = cells((node, gpu, rank) => `node ${node}, GPU ${gpu}, rank ${rank}<br>${colourings.map((one) => named(one, rank)).join("<br>")}`);
    Object.assign(figure.data[0], { z, text: about, hovertemplate: "%{text}<extra></extra>" });
    document.getElementById("grid-text-" + key.split("-")[1]).textContent = told(each);
  };

  const settings = { displayModeBar: false, responsive: true, doubleClick: "reset+autosize" };

  const draw = (element) => {
    const key = element.dataset.figure;
    if (key.startsWith("grid-")) gridOf(key);
    const made = coloured(data.figures[key], {});
    const narrow = element.clientWidth < 480;
    made.layout.font.family = getComputedStyle(document.body).fontFamily;
    if (narrow) {
      made.layout.font.size = 11;
      made.layout.margin = { ...made.layout.margin, l: Math.min(made.layout.margin.l, 44), r: 8 };
      made.layout.xaxis.nticks = 5;
      if (key.startsWith("step-")) made.layout.xaxis.range[1] *= 1.3;
      if (made.layout.showlegend && made.data.length > 5) {
        made.layout.margin.b += 60;
        made.layout.height += 70;
      }
    }
    drawn.add(element);
    element.style.height = made.layout.height + "px";
    return window.Plotly.react(element, made.data, made.layout, settings);
  };

  const plots = [...document.querySelectorAll(".plot")];
  const shown = (element) => element.offsetParent !== null;
  const near = (element) => {
    const place = element.getBoundingClientRect();
    return shown(element) && place.top < innerHeight + 400 && place.bottom > -400;
  };
  // Those that are seen, again where they are drawn: the others wait until they come near.
  const redraw = () => { for (const each of [...drawn].filter(shown)) draw(each); };
  const drawNear = () => { for (const each of plots) if (!drawn.has(each) && near(each)) draw(each); };
  const drawAll = () => { for (const each of plots) if (!drawn.has(each) && shown(each)) draw(each); };

  // A figure takes its place before it is drawn, so that nothing moves.
  for (const each of plots) each.style.height = data.figures[each.dataset.figure].layout.height + "px";

  const chips = () => {
    for (const box of document.querySelectorAll("[data-grid]")) {
      const key = box.dataset.grid, figure = data.figures[key];
      figure.meta.colourings.forEach((each, number) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = each.name;
        button.setAttribute("aria-pressed", String(number === 0));
        button.addEventListener("click", () => {
          figure.now = number;
          for (const other of box.children) other.setAttribute("aria-pressed", String(other === button));
          draw(document.getElementById("plot-" + key));
        });
        box.append(button);
      });
    }
  };

  const tabs = () => {
    const buttons = [...document.querySelectorAll("[data-part]")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        for (const other of buttons) {
          const now = other === button;
          other.setAttribute("aria-pressed", String(now));
          document.getElementById("part-" + other.dataset.part).hidden = !now;
        }
        redraw();
        drawNear();
      });
    }
  };

  const inflate = async () => {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), (each) => each.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };

  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => { if (!chosen) { setTheme(dark.matches ? "dark" : "light"); redraw(); } });
  document.getElementById("theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    setTheme(chosen);
    redraw();
  });
  let before = null;
  addEventListener("beforeprint", () => {
    before = before || root.dataset.theme;
    setTheme("light");
    for (const each of document.querySelectorAll("details")) each.open = true;
    redraw();
    drawAll();
  });
  addEventListener("afterprint", () => {
    if (before) setTheme(before);
    before = null;
    redraw();
  });
  chips();
  tabs();
  inflate().then(() => {
    drawNear();
    const eye = new IntersectionObserver(drawNear, { rootMargin: "400px" });
    for (const each of plots) eye.observe(each);
    root.dataset.ready = "true";
  });
})();
