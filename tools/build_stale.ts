/** Builds what ships, `npm run build` and `npm run build:agent`, unless dist/ is newer than everything it is made of. */
import { execFileSync } from "node:child_process";
import { globSync, statSync } from "node:fs";

const rooms = "{proto,kube,crds,node,controller,agent,sandbox,cli,bundles}";
const sources = [...globSync(`${rooms}/**/*.{ts,mjs,js,json,html,css,svg}`), "package-lock.json"];
const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));

for (const [file, script] of [
  ["dist/refit.mjs", "build"],
  ["dist/agent.mjs", "build:agent"],
] as const) {
  const built = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (built < newest) execFileSync("npm", ["run", "--silent", script], { stdio: "inherit" });
}
