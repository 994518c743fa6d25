// What esbuild bundled, from its metafile -> the licence of each package, one text below the other.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const LINE = `\n${"-".repeat(80)}\n\n`;

/** `modules` is the folder node_modules that the files come from, such as `node_modules/@codemirror/view/dist/index.js`. */
export function licences(metafile, modules) {
  const packages = new Set(
    Object.keys(metafile.inputs)
      .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
      .filter(Boolean),
  );
  return [...packages].sort().map((name) => licence(name, modules)).join(LINE);
}

function licence(name, modules) {
  const place = join(modules, name);
  const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const file = readdirSync(place).find((each) => /^licen[cs]e/i.test(each));
  if (!file || !existsSync(join(place, file))) throw new Error(`${name} ${version} comes without its licence`);
  return `${name} ${version}\n\n${readFileSync(join(place, file), "utf8").trim()}\n`;
}
