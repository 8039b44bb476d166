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
    objects.push(...objectsIn(document.toJS(), `${file}, document ${index + 1}`));
  }
  if (objects.length === 0) throw new CliError(`${file}: no objects in it`);
  return objects;
}

/** The objects of one document: of a list its items, of an empty one none. Throws CliError. `where`: what errors name. */
export function objectsIn(value: unknown, where: string): AnyObject[] {
  if (value === null || value === undefined) return [];
  const items = textAt(value, "kind")?.endsWith("List") ? listAt(value, "items") : [value];
  return items.map((item) => {
    if (isAnyObject(item) && item.apiVersion && item.kind && item.metadata.name) return item;
    throw new CliError(`${where}: not an object with apiVersion, kind and metadata.name`);
  });
}
