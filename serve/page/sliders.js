// The numbers of a job -> sliders. Each keeps its element while its number is there, so that a drag is not cut off.
import { element } from "./meaning.js";

export function createSliders(root, replace) {
  let shown = new Map();

  function moved(slider) {
    const text = slider.choices[slider.input.value];
    const { from, to } = slider;
    const longer = text.length - (to - from);
    if (text === slider.text) return;
    slider.text = slider.output.textContent = text;
    slider.to = from + text.length;
    for (const other of shown.values()) {
      if (other.from > from) {
        other.from += longer;
        other.to += longer;
      }
    }
    replace(from, to, text);
  }

  function made(name) {
    const slider = { input: document.createElement("input"), output: document.createElement("output") };
    const label = document.createElement("label");
    label.append(element("span", name, "name"), slider.input, slider.output);
    label.title = slider.input.name = name;
    slider.label = label;
    slider.input.type = "range";
    slider.input.min = 0;
    slider.input.addEventListener("input", () => moved(slider));
    return slider;
  }

  /** Shows what the server found in the text that the editor holds. */
  return function show(found) {
    const next = new Map();
    for (const { name, from, to, choices, at } of found) {
      const slider = shown.get(name) ?? made(name);
      Object.assign(slider, { from, to, choices, text: choices[at] });
      slider.input.max = choices.length - 1;
      if (Number(slider.input.value) !== at) slider.input.value = at;
      slider.output.textContent = choices[at];
      next.set(name, slider);
    }
    const same = next.size === shown.size && [...next.keys()].every((name) => shown.has(name));
    shown = next;
    if (!same) root.replaceChildren(...[...next.values()].map((slider) => slider.label));
  };
}
