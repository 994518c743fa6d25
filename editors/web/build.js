// editor.js and its packages -> one module for browsers, in the folder that is named, with their licences beside it.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { licences } from "../licences.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(here, "../../serve/page");

// The bundle says of which sources it is; tests/serve/test_bundle.py compares.
const SOURCES = ["editor.js", "build.js", "package.json"];
const digest = createHash("sha256");
for (const name of SOURCES) digest.update(readFileSync(join(here, name)));

const built = await build({
  entryPoints: [join(here, "editor.js")],
  outfile: join(folder, "editor.js"),
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  legalComments: "none",
  banner: { js: `// \`make web\` of sha256 ${digest.digest("hex")}; licences in editor.licences.txt` },
});

writeFileSync(join(folder, "editor.licences.txt"), licences(built.metafile, join(here, "node_modules")));
