// The Markdown of meanings -> elements: paragraphs, fenced code, `code` and **bold**. Text is never read as HTML.
export function meaningElement(text) {
  const root = document.createElement("div");
  root.className = "meaning";
  text.split(/^```\w*\n([\s\S]*?)\n?```$/m).forEach((piece, index) => {
    if (index % 2) root.append(element("pre", piece));
    else piece.split(/\n{2,}/).filter((each) => each.trim()).forEach((each) => root.append(paragraph(each.trim())));
  });
  return root;
}

function paragraph(text) {
  const made = document.createElement("p");
  text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).forEach((piece) => {
    if (/^`.+`$/.test(piece)) made.append(element("code", piece.slice(1, -1)));
    else if (/^\*\*.+\*\*$/.test(piece)) made.append(element("strong", piece.slice(2, -2)));
    else made.append(piece);
  });
  return made;
}

export function element(kind, text, name = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}
