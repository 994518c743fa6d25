// editor.js and its packages -> one module for browsers, in the folder that is named, with their licences beside it.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "../../serve/page");

const built = await build({
  entryPoints: [join(here, "editor.js")],
  outfile: join(folder, "editor.js"),
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  legalComments: "none",
});

// What was bundled, by the folders of its files: `node_modules/@codemirror/view/dist/index.js`.
const packages = new Set(
  Object.keys(built.metafile.inputs)
    .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
    .filter(Boolean),
);

function licence(name) {
  const place = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const file = readdirSync(place).find((each) => /^licen[cs]e/i.test(each));
  if (!file || !existsSync(join(place, file))) throw new Error(`${name} ${version} comes without its licence`);
  return `${name} ${version}\n\n${readFileSync(join(place, file), "utf8").trim()}\n`;
}

const texts = [...packages].sort().map(licence);
writeFileSync(join(folder, "editor.licences.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
