// The editor of `parc serve`: CodeMirror with the words of the language. What it says of a text comes from the
// functions that it is given, so that it knows nothing of the server.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip,
  keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

// CodeMirror's tag of each group of words of the language, and of what else is coloured.
const TAGS = {
  blocks: tags.definitionKeyword, statements: tags.moduleKeyword, clauses: tags.controlKeyword,
  operators: tags.operatorKeyword, constants: tags.bool, functions: tags.function(tags.variableName),
  quantities: tags.special(tags.variableName), decisions: tags.special(tags.variableName),
  key: tags.propertyName, library: tags.namespace, number: tags.number, text: tags.string, comment: tags.lineComment,
};

// Colours that the page's style sheet decides, for light and for dark.
const STYLE = HighlightStyle.define([
  { tag: tags.definitionKeyword, color: "var(--block)", fontWeight: "600" },
  { tag: [tags.moduleKeyword, tags.controlKeyword, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: [tags.bool, tags.namespace], color: "var(--constant)" },
  { tag: [tags.function(tags.variableName), tags.special(tags.variableName)], color: "var(--name)" },
  { tag: tags.propertyName, color: "var(--key)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.string, color: "var(--text)" },
  { tag: tags.lineComment, color: "var(--comment)", fontStyle: "italic" },
]);

// The server's table of words and patterns -> a language. Patterns are tried in their order at each place.
function languageOf(table) {
  const groups = new Map(Object.entries(table.words).flatMap(([group, words]) => words.map((word) => [word, group])));
  const patterns = table.patterns.map(([kind, source]) => [kind, new RegExp(`^(?:${source})`)]);
  return StreamLanguage.define({
    name: "parc",
    tokenTable: TAGS,
    languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
    token(stream) {
      if (stream.eatSpace()) return null;
      for (const [kind, pattern] of patterns) {
        const found = stream.match(pattern);
        if (found) return kind === "name" ? (groups.get(found[0]) ?? null) : kind;
      }
      stream.next();
      return null;
    },
    indent: (state, textAfter, context) => null,
  });
}

function completionSource(complete) {
  return async (context) => {
    const word = context.matchBefore(/[\w.]*/);
    if (!context.explicit && !word.text) return null;
    const offers = await complete(context.state.doc.toString(), context.pos);
    if (context.aborted || !offers.length) return null;
    const options = offers.map(({ word: label, kind, note, text }) => ({
      label, detail: note, type: kind, info: text ? () => text() : undefined,
    }));
    return { from: word.from, options, validFor: /^[\w.]*$/ };
  };
}

function problemOf(view, problem) {
  const actions = problem.edits.length
    ? [{
        name: problem.help ?? "mend it",
        apply: (editor) => editor.dispatch({
          changes: problem.edits.map(({ from, to, text }) => ({ from, to, insert: text })),
        }),
      }]
    : [];
  const length = view.state.doc.length;
  return {
    from: Math.min(problem.from, length), to: Math.min(problem.to, length), severity: problem.severity,
    source: problem.code, message: problem.message + (problem.help ? `\nhelp: ${problem.help}` : ""), actions,
  };
}

/**
 * An editor in `parent`. `check(text)` gives complaints, `complete(text, at)` words with their notes, `hover(text, at)`
 * an element with its place; each may be a promise. `changed(text)` is called after each change.
 */
export function createEditor({ parent, text, language, nonce, check, complete, hover, changed }) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce),
        lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), highlightSpecialChars(), drawSelection(),
        history(), bracketMatching(), closeBrackets(), highlightSelectionMatches(), indentUnit.of("  "),
        languageOf(language), syntaxHighlighting(STYLE),
        autocompletion({ override: [completionSource(complete)] }),
        lintGutter(),
        linter(async (editor) => (await check(editor.state.doc.toString())).map((each) => problemOf(editor, each)),
          { delay: 200 }),
        hoverTooltip(async (editor, at) => {
          const found = await hover(editor.state.doc.toString(), at);
          return found && { pos: found.from, end: found.to, above: true, create: () => ({ dom: found.dom }) };
        }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
        EditorView.contentAttributes.of({ "aria-label": "the job" }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap,
          ...defaultKeymap, indentWithTab]),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (from, to, insert) => view.dispatch({ changes: { from, to, insert } }),
    show: (all) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: all } }),
    recheck: () => forceLinting(view),
    focus: () => view.focus(),
  };
}
