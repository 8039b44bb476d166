import type { JsonPatchOperation } from "../../kube/index.ts";
import type { Call } from "../command.ts";
import { CliError } from "../errors.ts";
import { fieldsAt, sameJson } from "../fields.ts";
import { pointer } from "../write.ts";
import { type ContainerPlace, matchingContainers, type TemplateChange } from "./template.ts";

type Amounts = ReadonlyMap<string, string>;

export function resourcesChange(call: Call): TemplateChange {
  const limits = amountsOf(call, "limits");
  const requests = amountsOf(call, "requests");
  if (limits.size + requests.size === 0) throw new CliError("say what to set, with --limits or --requests");
  const pattern = call.flags.text("containers") ?? "*";
  return {
    did: "resource requirements updated",
    objectWords: call.words,
    operations: (places) =>
      matchingContainers(places, pattern).flatMap((place) => operationsOf(place, limits, requests)),
  };
}

function amountsOf(call: Call, flag: string): Amounts {
  const amounts = new Map<string, string>();
  for (const pair of call.flags.list(flag)) {
    const [name = "", amount = ""] = pair.split("=");
    if (name === "" || amount === "")
      throw new CliError(`invalid value "${pair}" for --${flag}: must be RESOURCE=AMOUNT`);
    amounts.set(name, amount);
  }
  return amounts;
}

function operationsOf(place: ContainerPlace, limits: Amounts, requests: Amounts): JsonPatchOperation[] {
  const before = fieldsAt(place.container, "resources");
  const after: Record<string, unknown> = { ...before };
  for (const [field, amounts] of [
    ["limits", limits],
    ["requests", requests],
  ] as const) {
    const merged = { ...fieldsAt(before, field) };
    for (const [name, amount] of amounts) {
      if (amount === "0") delete merged[name];
      else merged[name] = amount;
    }
    if (Object.keys(merged).length > 0) after[field] = merged;
    else delete after[field];
  }
  if (sameJson(before, after)) return [];
  return [{ op: "add", path: pointer([...place.path, "resources"]), value: after }];
}
