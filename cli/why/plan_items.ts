/** What a plan is made of: an object that is stored, or a manifest beside what is stored of its name. */
import { dryRunKinds } from "../../controller/index.ts";
import { kinds, unknownFields } from "../../crds/index.ts";
import { ignoreNotFound } from "../../kube/index.ts";
import type { ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import type { AnyObject } from "../fields.ts";
import { objectResource, pluralName, type ResourceType } from "../resource_types.ts";
import { nearest } from "../suggest.ts";
import { readTarget, type Target } from "../target.ts";
import { dryRunPlanner } from "./dry_run.ts";
import type { Planner, Subject } from "./forecast.ts";
import { plannerOf, planners } from "./planners.ts";

export interface PlanItem {
  readonly target: Target;
  readonly planner: Planner;
  readonly subject: Subject;
}

/** Throws CliError for a kind without a plan, KubeError when the object cannot be read. */
export async function storedItem(access: ClusterAccess, target: Target): Promise<PlanItem> {
  const planner = needPlanner(target.type);
  return { target, planner, subject: { stored: await readTarget(access, target) } };
}

function needPlanner(type: ResourceType): Planner {
  const planner = plannerOf(type) ?? dryRunPlanner(type);
  if (planner !== undefined) return planner;
  throw new CliError(`plan is not supported on ${pluralName(type)}: it knows ${dryRunKinds.join(", ")}`);
}

/** The dry run of all other kinds reads the object from the server. */
export const knownPlans = planners.map(({ kind }) => kind).join(", ");
export const noPlans = `no object in it that is planned before it is stored: plan -f knows ${knownPlans}; apply others and name them`;

/**
 * Undefined for an object of a manifest that has no plan, such as a Service beside its workload. `file`: what errors name.
 * Throws CliError for fields that nobody knows.
 */
export async function manifestItem(
  access: ClusterAccess,
  manifest: AnyObject,
  file: string,
): Promise<PlanItem | undefined> {
  const [group = ""] = (manifest.apiVersion ?? "").split("/");
  const kind = manifest.kind ?? "";
  const planner = plannerOf({ group, kind });
  if (planner === undefined) return undefined;
  refuseUnknownFields(manifest, file);
  const type = await access.types.findKind(group, kind);
  if (type === undefined)
    throw new CliError(`the server does not serve ${kind} of ${group}; see "refit install"`);
  const { name = "", namespace = access.namespace } = manifest.metadata;
  const ref = type.namespaced ? { namespace, name } : { name };
  const placed = { ...manifest, metadata: { ...manifest.metadata, ...ref } };
  const stored = await access.client.get(objectResource(type), ref).catch(ignoreNotFound);
  const subject = stored === undefined ? { manifest: placed } : { manifest: placed, stored };
  return { target: { type, ref }, planner, subject };
}

/** The API server would drop them: what is planned would not be what was meant. */
function refuseUnknownFields(manifest: AnyObject, file: string): void {
  const { kind = "", metadata } = manifest;
  const definition = kinds.find((candidate) => candidate.kind === kind);
  if (definition === undefined) return;
  const unknown = unknownFields(definition, manifest).map(({ path, name, known }) => {
    const near = nearest(name, known);
    return `unknown field "${path}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
  });
  if (unknown.length > 0) throw new CliError(`${file}: ${kind} ${metadata.name}: ${unknown.join(", ")}`);
}
