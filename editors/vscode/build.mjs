// extension.js and the language client -> dist/extension.js, all that VS Code loads, with their licences beside it.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { licences } from "../licences.mjs";

const here = dirname(fileURLToPath(import.meta.url));

const built = await build({
  entryPoints: [join(here, "extension.js")],
  outfile: join(here, "dist/extension.js"),
  bundle: true,
  platform: "node",
  format: "cjs",
  // Node of the oldest VS Code in `engines`: 1.82 has 18.15.
  target: "node18",
  external: ["vscode"],
  minify: true,
  metafile: true,
  legalComments: "none",
});

writeFileSync(join(here, "dist/licences.txt"), licences(built.metafile, join(here, "node_modules")));
