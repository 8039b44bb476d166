/** Commands that can be pasted as they are. */
import { inNamespace } from "../resource_types.ts";

interface NamedObject {
  /** With its type: `cloneset.apps.kruise.io/web`. */
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Changes fields of an object; null takes one away. */
export function patchCommand({ name, namespace }: NamedObject, patch: object): string {
  return `kubectl patch ${name}${inNamespace(namespace)} --type merge -p '${JSON.stringify(patch)}'`;
}

/** Changes one field. */
export function patchFieldCommand(object: NamedObject, path: readonly string[], value: unknown): string {
  const [first = "", ...others] = path;
  const inner = others.reduceRight<unknown>((below, name) => ({ [name]: below }), value);
  return patchCommand(object, { [first]: inner });
}

/** Shows all that an object says. */
export function showCommand({ name, namespace }: NamedObject): string {
  return `kubectl get ${name}${inNamespace(namespace)} -o yaml`;
}
