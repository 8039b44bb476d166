import type { JsonPatchOperation } from "../../kube/index.ts";
import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { listAt, sameJson, textAt } from "../fields.ts";
import { pointer } from "../write.ts";
import { type ContainerPlace, matchingContainers, type TemplateChange } from "./template.ts";

const assignment = /^([A-Za-z_.-][\w.-]*)=(.*)$/s;
const removal = /^([A-Za-z_.-][\w.-]*)-$/;

/** `NAME=VALUE` sets, `NAME-` removes; with --list the variables are printed. */
export function envChange(call: Call): TemplateChange {
  const set = new Map<string, string>();
  const removed = new Set<string>();
  const objectWords: string[] = [];
  for (const word of call.words) {
    const [, name, value] = assignment.exec(word) ?? [];
    const [, gone] = removal.exec(word) ?? [];
    if (name !== undefined && value !== undefined) set.set(name, value);
    else if (gone !== undefined && objectWords.length > 0) removed.add(gone);
    else objectWords.push(word);
  }
  const isListing = call.flags.on("list");
  if (!isListing && set.size + removed.size === 0) {
    throw new CliError("at least one environment variable must be provided, as NAME=VALUE or NAME-");
  }
  const pattern = call.flags.text("containers") ?? "*";
  return {
    did: "env updated",
    objectWords,
    operations(places) {
      const chosen = matchingContainers(places, pattern);
      if (isListing) printVariables(call, chosen);
      return isListing ? [] : chosen.flatMap((place) => variableOperations(place, set, removed));
    },
  };
}

function variableOperations(
  place: ContainerPlace,
  set: ReadonlyMap<string, string>,
  removed: ReadonlySet<string>,
): JsonPatchOperation[] {
  const before = listAt(place.container, "env");
  const seen = new Set<string>();
  const after: unknown[] = [];
  for (const entry of before) {
    const name = textAt(entry, "name") ?? "";
    if (removed.has(name)) continue;
    const value = set.get(name);
    seen.add(name);
    after.push(value === undefined ? entry : { name, value });
  }
  for (const [name, value] of set) if (!seen.has(name)) after.push({ name, value });
  if (sameJson(before, after)) return [];
  return [{ op: "add", path: pointer([...place.path, "env"]), value: after }];
}

function printVariables(call: Call, places: readonly ContainerPlace[]): void {
  for (const place of places) {
    call.print(`# container ${place.name}`);
    for (const entry of listAt(place.container, "env")) {
      const value = textAt(entry, "value");
      const name = textAt(entry, "name") ?? "";
      call.print(value === undefined ? `# ${name} from a source in the cluster` : `${name}=${value}`);
    }
  }
}
