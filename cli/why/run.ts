import type { Waiting } from "../../controller/index.ts";
import type { CloneSet } from "../../crds/index.ts";
import { isKubeError } from "../../kube/index.ts";
import type { Call, ClusterAccess } from "../command.ts";
import { CliError } from "../errors.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";
import { readManifests } from "../manifest_input.ts";
import { objectName, objectResource, pluralName } from "../resource_types.ts";
import { workloadOf } from "../rollout/workloads.ts";
import { oneTarget, readTarget } from "../target.ts";
import { describeAction, describeWaiting } from "./describe.ts";
import { planOf, toCloneSet } from "./observe_clone_set.ts";
import { canPlan } from "./reasons.ts";

export async function runWhy(call: Call): Promise<number> {
  const target = await oneTarget(call);
  if (!canPlan(target))
    throw new CliError(`why is not supported on ${pluralName(target.type)}: it has no plan here`);
  const access = await call.cluster();
  const object = await readTarget(access, target);
  const { plan } = await planOf(access, toCloneSet(object, "stored"), gatesOf(call), call.host);
  const progress = workloadOf(target.type, "why").progress(object);
  const name = objectName(target.type, target.ref.name);
  call.print(`${call.paint("bold", name)}: ${progress.message}`);
  printWaiting(call, plan.waiting);
  const next = plan.actions.map(describeAction).filter((line) => line !== undefined);
  if (plan.waiting.length === 0) {
    call.print(
      next.length > 0 ? "Nothing holds it back; the controller acts next:" : "Nothing holds it back.",
    );
  }
  if (plan.waiting.length === 0 || next.length > 0)
    printLines(call, next, "Meanwhile:", plan.waiting.length > 0);
  return 0;
}

export async function runPlan(call: Call): Promise<number> {
  const access = await call.cluster();
  const sets = await setsOf(call, access);
  for (const set of sets) await printPlan(call, access, set);
  return 0;
}

async function setsOf(call: Call, access: ClusterAccess): Promise<CloneSet[]> {
  const file = call.flags.text("filename");
  if (file === undefined) {
    const target = await oneTarget(call);
    if (!canPlan(target)) throw new CliError(`plan is not supported on ${pluralName(target.type)}`);
    return [toCloneSet(await readTarget(access, target), "stored")];
  }
  const objects = await readManifests(call, [file]);
  const wanted = objects.filter(
    (object) => object.kind === "CloneSet" && object.apiVersion?.startsWith("apps.kruise.io/"),
  );
  if (wanted.length === 0) throw new CliError(`${file}: no CloneSet in it`);
  return Promise.all(wanted.map((object) => onLiveObject(access, object)));
}

/** The manifest's spec on the identity and status of the live object, if there is one. */
async function onLiveObject(access: ClusterAccess, manifest: AnyObject): Promise<CloneSet> {
  const set = toCloneSet(manifest, "manifest");
  const type = await access.types.findKind("apps.kruise.io", "CloneSet");
  const ref = { namespace: set.metadata.namespace ?? access.namespace, name: set.metadata.name ?? "" };
  try {
    if (type === undefined)
      throw new CliError("the server does not serve CloneSets; run refit install first");
    const live = toCloneSet(await access.client.get(objectResource(type), ref), "stored");
    return { ...live, spec: set.spec };
  } catch (error) {
    if (isKubeError(error, "NotFound")) return { ...set, metadata: { ...set.metadata, ...ref } };
    throw error;
  }
}

async function printPlan(call: Call, access: ClusterAccess, set: CloneSet): Promise<void> {
  const { seen, plan } = await planOf(access, set, gatesOf(call), call.host);
  const { status } = plan;
  const name = toAnyObject(set).metadata.name ?? "";
  call.print(
    `${call.paint("bold", `cloneset.apps.kruise.io/${name}`)}: ${seen.pods.length} of ${set.spec.replicas ?? 1} pods, ` +
      `${status.updatedReplicas} at revision ${status.updateRevision}, ${status.availableReplicas} available`,
  );
  const next = plan.actions.map(describeAction).filter((line) => line !== undefined);
  printLines(call, next, "Next:", true);
  if (next.length === 0) call.print("Nothing to do.");
  printWaiting(call, plan.waiting);
  if (plan.wakeAfterMs !== undefined)
    call.print(`Looks again after ${(plan.wakeAfterMs / 1000).toFixed(1)} s.`);
}

function gatesOf(call: Call): string {
  return call.flags.text("feature-gates") ?? "";
}

const mostLines = 40;

function printWaiting(call: Call, waiting: readonly Waiting[]): void {
  if (waiting.length === 0) return;
  call.print(waiting.length === 1 ? "It waits for one reason:" : `It waits for ${waiting.length} reasons:`);
  const width = Math.max(...waiting.map(({ reason }) => reason.length));
  for (const entry of waiting.slice(0, mostLines)) {
    call.print(`  ${call.paint("yellow", entry.reason.padEnd(width))}  ${describeWaiting(entry)}`);
  }
  if (waiting.length > mostLines) call.print(`  … and ${waiting.length - mostLines} more`);
}

function printLines(call: Call, lines: readonly string[], title: string, withTitle: boolean): void {
  if (lines.length === 0) return;
  if (withTitle) call.print(title);
  for (const line of lines.slice(0, mostLines)) call.print(`  ${line}`);
  if (lines.length > mostLines) call.print(`  … and ${lines.length - mostLines} more`);
}
