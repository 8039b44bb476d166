/** Objects from YAML or JSON files, or from standard input. */
import { parseAllDocuments } from "yaml";
import type { Call } from "./command.ts";
import { CliError } from "./errors.ts";
import { type AnyObject, isAnyObject, listAt, textAt } from "./fields.ts";

export async function readManifests(call: Call, files: readonly string[]): Promise<AnyObject[]> {
  const objects: AnyObject[] = [];
  for (const file of files) {
    const text = file === "-" ? await call.host.readStdin() : await call.host.readFile(file);
    objects.push(...parseManifests(text, file));
  }
  return objects;
}

/** Every object of a text; lists are taken apart. Throws CliError that names the file and the document. */
export function parseManifests(text: string, file: string): AnyObject[] {
  const documents = parseAllDocuments(text);
  const objects: AnyObject[] = [];
  for (const [index, document] of (Array.isArray(documents) ? documents : []).entries()) {
    const [problem] = document.errors;
    if (problem !== undefined) {
      throw new CliError(`${file}, document ${index + 1}: ${problem.message.split("\n")[0]}`, {
        cause: problem,
      });
    }
    const value: unknown = document.toJS();
    if (value === null || value === undefined) continue;
    const items = textAt(value, "kind")?.endsWith("List") ? listAt(value, "items") : [value];
    for (const item of items) {
      if (!isAnyObject(item) || !item.apiVersion || !item.kind || !item.metadata.name) {
        throw new CliError(
          `${file}, document ${index + 1}: not an object with apiVersion, kind and metadata.name`,
        );
      }
      objects.push(item);
    }
  }
  if (objects.length === 0) throw new CliError(`${file}: no objects in it`);
  return objects;
}
