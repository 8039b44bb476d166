/** The first statement of a bundle of one file: which Node it needs, before its code meets what an older one lacks. */

/** `engines` as in package.json: `>=22.19`. */
export function nodeCheck(program: string, engines: string): string {
  const [major, minor] = engines.replace(">=", "").split(".").map(Number);
  const message = `${program} needs Node ${major}.${minor} or newer; this is Node `;
  return `{ const [major, minor] = process.versions.node.split(".").map(Number);
if (major < ${major} || (major === ${major} && minor < ${minor})) {
process.stderr.write(${JSON.stringify(message)} + process.versions.node + "\\n"); process.exit(1); } }`;
}
