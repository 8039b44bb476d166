/** Plans of ResourceDistributions, by the controller's own function. */
import {
  copiesOf,
  copyResources,
  listedReads,
  type NamespacePlan,
  observeResourceDistribution,
  type ParsedDistribution,
  parseDistribution,
  planNamespace,
} from "../../controller/index.ts";
import { type ResourceDistribution, resourceDistribution } from "../../crds/index.ts";
import { counted, keyOf, ParseError } from "../../kube/core/index.ts";
import { namespaceResource } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { inNamespace } from "../resource_types.ts";
import type { Forecast } from "./forecast.ts";
import { planner } from "./subject.ts";

export const resourceDistributionPlanner = planner({
  kind: "ResourceDistribution",
  needs: { path: ["spec", "resource"], name: "resource" },
  read: (object) => resourceDistribution.readStored(object),
  async forecast(distribution, { access }) {
    const wanted = readDistribution(distribution);
    const plans = await plansOf(access, wanted);
    const targets = plans.filter(({ plan }) => plan.target);
    const inPlace = targets.filter(({ plan }) => plan.write === undefined && plan.failure === undefined);
    return {
      summary: `${counted(targets.length, "target namespace")}, ${inPlace.length} ${inPlace.length === 1 ? "holds" : "hold"} the copy`,
      actions: [],
      steps: plans.flatMap(({ name, plan }) => stepOf(wanted, name, plan)),
      waiting: [...(targets.length === 0 ? [noTargets] : []), ...waitingOf(wanted, targets)],
      requeueAfterMs: undefined,
      notices: refusalsOf(distribution),
    };
  },
});

const noTargets = {
  reason: "NoTargets",
  message: "spec.targets matches no namespace",
  until: "a namespace matches, or the targets are corrected",
};

interface NamedPlan {
  readonly name: string;
  readonly plan: NamespacePlan;
}

/** Every namespace that is a target or holds an object of the copies' name, by name. */
async function plansOf({ client }: ClusterAccess, wanted: ParsedDistribution): Promise<NamedPlan[]> {
  const { source } = wanted;
  const reads = listedReads(client, "");
  const namespaces = reads.informers.cacheOf(namespaceResource);
  const copies =
    "problem" in source ? "none" : await reads.select(copyResources[source.kind], copiesOf(source));
  await reads.read();
  return observeResourceDistribution(wanted, namespaces, copies).map((place) => ({
    name: place.name,
    plan: planNamespace(wanted, place),
  }));
}

function stepOf({ source }: ParsedDistribution, namespace: string, { write }: NamespacePlan): string[] {
  if (write === undefined || "problem" in source) return [];
  return [`${write.type} ${source.kind} ${keyOf({ namespace, name: source.name })}`];
}

const endings: ReadonlyMap<string, string> = new Map([
  ["NamespaceNotExists", "they exist, or are no targets any more"],
  ["ConflictOccurred", "the objects that have the name of the copies are gone"],
]);

function waitingOf({ source }: ParsedDistribution, targets: readonly NamedPlan[]): Forecast["waiting"] {
  const failing = targets.flatMap(({ name, plan }) => (plan.failure ? [{ name, ...plan.failure }] : []));
  return [...Map.groupBy(failing, ({ type }) => type)].map(([type, failures]) => {
    const names = failures.map(({ name }) => name);
    const shown = names.length > mostNames ? [...names.slice(0, mostNames), "…"] : names;
    return {
      reason: type,
      message: `${failures[0]?.reason}: ${shown.join(", ")}`,
      until: endings.get(type) ?? "spec.resource is put right",
      next: nextCommand(type, source, names[0] ?? ""),
    };
  });
}

function nextCommand(
  type: string,
  source: ParsedDistribution["source"],
  namespace: string,
): string | undefined {
  if (type === "NamespaceNotExists") return `kubectl get namespace ${namespace}`;
  if (type !== "ConflictOccurred" || "problem" in source) return undefined;
  return `kubectl get ${source.kind.toLowerCase()} ${source.name}${inNamespace(namespace)} -o yaml`;
}

const mostNames = 5;

/** What the server refused when the controller wrote last. */
function refusalsOf({ status }: ResourceDistribution): string[] {
  return (status?.conditions ?? [])
    .filter(({ type, status: is }) => is === "True" && !endings.has(type))
    .map(({ type, reason }) => `the controller reports ${type}: ${reason ?? ""}`);
}

function readDistribution(distribution: ResourceDistribution): ParsedDistribution {
  try {
    return parseDistribution(distribution);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new CliError(`the ResourceDistribution is invalid: spec.targets: ${error.message}`, {
      cause: error,
    });
  }
}
