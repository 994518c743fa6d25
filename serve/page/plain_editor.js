// A text area with the interface of the built editor, for a checkout in which nobody has run `make web`.
export function createEditor({ parent, text, check, changed }) {
  const area = document.createElement("textarea");
  area.spellcheck = false;
  area.setAttribute("aria-label", "the job");
  area.value = text;
  parent.append(area);
  let waiting = 0;
  const recheck = () => check(area.value);
  const moved = () => {
    clearTimeout(waiting);
    waiting = setTimeout(recheck, 200);
    changed(area.value);
  };
  area.addEventListener("input", moved);
  recheck();
  const set = (all) => {
    area.value = all;
    moved();
  };
  return {
    text: () => area.value,
    replace: (from, to, insert) => set(area.value.slice(0, from) + insert + area.value.slice(to)),
    show: set,
    recheck,
    focus: () => area.focus(),
  };
}
