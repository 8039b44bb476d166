/** Lines of level WARN that controller and agent write, as they stand in the sources. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const folders = ["kube", "controller", "agent", "cli/controller"];

/** Messages by file; those that the code puts together are not among them. */
export function warnings(): { file: string; message: string }[] {
  return folders.flatMap(sources).flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    return messagesOf(source).map((message) => ({ file, message }));
  });
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/_(test|bench)\.ts$/.test(name))
    .map((name) => `${folder}/${name}`);
}

/** The argument is a text, a choice between two, or the constant `text` above it. */
export function messagesOf(source: string): string[] {
  return [...source.matchAll(/[lL]og\.warn\(\s*("[^"]*"|[^,)]+)/g)].flatMap(({ 1: argument = "", index }) => {
    const above = source.slice(0, index);
    const constant = above.slice(above.lastIndexOf("const text ="));
    const written = argument.trim() === "text" ? (constant.split(";")[0] ?? "") : argument;
    return [...written.matchAll(/"([^"]+)"/g)].map(({ 1: message = "" }) => message);
  });
}
