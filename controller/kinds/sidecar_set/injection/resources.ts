/** Resources of a sidecar in relation to those of the pod's own containers. Spec: sidecarset 17 to 21. */
import {
  type ExpressionVariable,
  evaluateResourceExpression,
  type SidecarContainer,
} from "../../../../crds/index.ts";
import {
  compileGoRegexp,
  formatQuantity,
  goQuote,
  isQuantity,
  type JsonObject,
  own,
  ParseError,
  parseQuantity,
  type Quantity,
} from "../../../../kube/core/index.ts";
import { objectAt, objectsAt, textAt } from "../../../native/json_fields.ts";
import { InjectionError, type Sidecars } from "./sidecars.ts";

type ResourcesPolicy = NonNullable<SidecarContainer["resourcesPolicy"]>;

/** Containers that run as long as the pod and are nobody's sidecars. `sidecars`: all names that are defined in its sets. */
export function ownContainers(spec: JsonObject, sidecars: ReadonlySet<string>): JsonObject[] {
  const native = objectsAt(spec, "initContainers").filter((one) => own(one, "restartPolicy") === "Always");
  return [...objectsAt(spec, "containers"), ...native].filter(
    (container) => !sidecars.has(textAt(container, "name")),
  );
}

/**
 * What the policy of a sidecar gives, to replace its resources; `candidates` are the pod's own containers. Throws
 * InjectionError where the regular expression matches none of them, or an expression has no value.
 */
export function resourcesByPolicy(
  policy: ResourcesPolicy,
  candidates: readonly JsonObject[],
  { sidecar, set }: { readonly sidecar: string; readonly set: string },
): JsonObject {
  const refuse = (message: string, cause?: unknown) =>
    new InjectionError(`${message} (container ${sidecar})`, set, { cause });
  const pattern = policy.targetContainersNameRegex ?? ".*";
  const targets = candidates.filter(matcherOf(pattern, refuse));
  if (targets.length === 0) throw refuse(`no containers match the regex pattern ${goQuote(pattern)}`);
  const resources: JsonObject = {};
  for (const list of ["limits", "requests"] as const) {
    const expressions = policy.resourcesExpr[list];
    const amounts: JsonObject = {};
    for (const name of ["cpu", "memory"] as const) {
      const text = expressions?.[name] ?? "";
      const value = text === "" ? undefined : combined(targets, list, name, policy.targetContainersMode);
      if (value === undefined) continue;
      try {
        amounts[name] = formatQuantity(evaluateResourceExpression(text, { name, value }));
      } catch (error) {
        if (!(error instanceof ParseError)) throw error;
        throw refuse(`resourcesExpr.${list}.${name}: ${error.message}`, error);
      }
    }
    if (Object.keys(amounts).length > 0) resources[list] = amounts;
  }
  return resources;
}

function matcherOf(
  pattern: string,
  refuse: (message: string, cause?: unknown) => InjectionError,
): (container: JsonObject) => boolean {
  try {
    const compiled = compileGoRegexp(pattern);
    return (container) => compiled.test(textAt(container, "name"));
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw refuse(`invalid regex pattern: ${error.message}`, error);
  }
}

/** Undefined: unlimited, as soon as one of them is. */
function combined(
  targets: readonly JsonObject[],
  list: "limits" | "requests",
  name: ExpressionVariable["name"],
  mode: ResourcesPolicy["targetContainersMode"],
): Quantity | undefined {
  let total: Quantity = { nano: 0n, format: "DecimalSI" };
  for (const target of targets) {
    const given = own(objectAt(objectAt(target, "resources"), list), name);
    if (!isQuantity(given)) {
      if (list === "limits") return undefined;
      continue;
    }
    const amount = parseQuantity(given);
    if (total.nano === 0n) total = amount;
    else if (mode === "sum") total = { nano: total.nano + amount.nano, format: total.format };
    else if (amount.nano > total.nano) total = amount;
  }
  return total;
}

/** Names of containers that the sets define, and those that a hot upgrade makes of them. */
export function sidecarNames(sets: readonly Sidecars[]): ReadonlySet<string> {
  const defined = sets.flatMap(({ containers, initContainers }) => [...containers, ...initContainers]);
  return new Set(
    defined.flatMap(({ sidecar, containers }) => [sidecar.name, ...containers.map(({ name }) => name)]),
  );
}
