/** Subresources that only pods have. */

import { cloneJson, compileSelector, formatTime } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { fieldsAt, isSelector, numberAt, objectsAt, setAt, textAt, valueAt } from "../json.ts";
import type { World } from "../world.ts";
import { type DeleteOptions, deleteAtOnce } from "../writes/delete.ts";
import { type UpdateParts, updateObject } from "../writes/update.ts";
import { ApiError, badRequest, conflict, notFound } from "./api_error.ts";
import { expectedCore, readObject } from "./body.ts";
import { type Exchange, type Reply, statusReply } from "./exchange.ts";
import type { Target } from "./target.ts";
import { writeRequest } from "./write.ts";

const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

export function podOf(target: Target): StoredObject {
  const revision = target.served.resource.table.get(target.namespace, target.name);
  if (revision === undefined) throw notFound(target.served, target.name);
  return revision.object;
}

/** `target.name` may be empty for the older path `/bindings`, where the body names the pod. */
export async function bindPod(world: UpdateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const binding = await readObject(exchange, expectedCore("v1", "Binding"));
  const name = target.name === "" ? (binding.metadata.name ?? "") : target.name;
  const node = textAt(binding, "target", "name");
  const at = { ...target, name, subresource: "binding" };
  const request = writeRequest(exchange, at, "CreateOptions");
  await updateObject(world, request, async (current) => {
    const subject = { group: "", plural: "pods/binding" };
    const uid = binding.metadata.uid ?? "";
    if (uid !== "" && uid !== current.metadata.uid) {
      throw conflict(
        subject,
        name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
      );
    }
    if (current.metadata.deletionTimestamp !== undefined) {
      throw conflict(subject, name, `pod ${name} is being deleted, cannot be assigned to a host`);
    }
    const present = textAt(current, "spec", "nodeName");
    if (present !== "")
      throw conflict(subject, name, `pod ${name} is already assigned to node ${JSON.stringify(present)}`);
    return { draft: bound(current, node, binding, world.clock.now()) };
  });
  return statusReply(exchange, 201, success);
}

function bound(current: StoredObject, node: string, binding: StoredObject, now: number): StoredObject {
  const draft = cloneJson(current);
  setAt(draft, ["spec", "nodeName"], node);
  const { annotations } = binding.metadata;
  if (annotations !== undefined)
    draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations };
  const others = objectsAt(draft, "status", "conditions").filter(
    (condition) => condition["type"] !== "PodScheduled",
  );
  const scheduled = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
    observedGeneration: draft.metadata.generation,
  };
  setAt(draft, ["status", "conditions"], [...others, scheduled]);
  return draft;
}

export async function evictPod(
  world: Pick<World, "admission" | "clock" | "registry">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  const eviction = await readObject(exchange, expectedCore("policy/v1", "Eviction"));
  const pod = podOf(target);
  const request = writeRequest(exchange, target, "CreateOptions");
  eviction.metadata.name ??= target.name;
  eviction.metadata.namespace ??= target.namespace;
  const review = {
    operation: "CREATE" as const,
    request,
    object: eviction,
    oldObject: undefined,
    kind: { group: "policy", version: "v1", kind: "Eviction" },
  };
  await world.admission.mutate(review);
  await world.admission.validate(review);
  takeFromBudget(world, target, pod, request.dryRun);
  const { dryRun: _dryRun, ...deletion } = fieldsAt(eviction, "deleteOptions");
  const options: DeleteOptions = {
    gracePeriodSeconds: numberAt(deletion, "gracePeriodSeconds"),
    uid: textAt(deletion, "preconditions", "uid") || undefined,
    resourceVersion: textAt(deletion, "preconditions", "resourceVersion") || undefined,
    propagationPolicy: textAt(deletion, "propagationPolicy") || undefined,
  };
  const dryRun = request.dryRun || Array.isArray(_dryRun);
  // The eviction has been admitted; its deletion is not asked about again.
  deleteAtOnce(world.clock, { ...request, dryRun, subresource: "" }, options);
  return statusReply(exchange, 201, success);
}

/** Pods that do not run or are not ready cost nothing; others need an allowed disruption. */
function takeFromBudget(
  world: Pick<World, "clock" | "registry">,
  target: Target,
  pod: StoredObject,
  dryRun: boolean,
): void {
  const phase = textAt(pod, "status", "phase");
  if (phase === "Succeeded" || phase === "Failed" || phase === "Pending") return;
  if (pod.metadata.deletionTimestamp !== undefined) return;
  const table = world.registry.resource("poddisruptionbudgets.policy")?.table;
  const budgets = (table?.list(target.namespace) ?? []).filter(({ object }) => {
    const selector = valueAt(object, "spec", "selector");
    return isSelector(selector) && compileSelector(selector).matches(pod.metadata.labels);
  });
  if (budgets.length > 1) {
    throw new ApiError(
      500,
      "InternalError",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const [budget] = budgets;
  if (budget === undefined || table === undefined) return;
  const allowed = numberAt(budget.object, "status", "disruptionsAllowed") ?? 0;
  const observed = numberAt(budget.object, "status", "observedGeneration") ?? 0;
  if (observed < (budget.object.metadata.generation ?? 0)) {
    throw tooMany(`The disruption budget ${budget.name} is still being processed by the server.`);
  }
  if (allowed <= 0) {
    const wanted = numberAt(budget.object, "status", "desiredHealthy") ?? 0;
    const healthy = numberAt(budget.object, "status", "currentHealthy") ?? 0;
    throw tooMany(
      `The disruption budget ${budget.name} needs ${wanted} healthy pods and has ${healthy} currently`,
    );
  }
  if (dryRun) return;
  const draft = cloneJson(budget.object);
  setAt(draft, ["status", "disruptionsAllowed"], allowed - 1);
  setAt(draft, ["status", "disruptedPods", target.name], formatTime(world.clock.now()));
  table.put(draft);
}

function tooMany(why: string): ApiError {
  const message = "Cannot evict pod as it would violate the pod's disruption budget.";
  return new ApiError(429, "TooManyRequests", message, {
    causes: [{ reason: "DisruptionBudget", message: why }],
  });
}

export function checkScheduled(pod: StoredObject): void {
  if (textAt(pod, "spec", "nodeName") !== "") return;
  throw badRequest(`pod ${pod.metadata.name ?? ""} does not have a host assigned`);
}

export async function refuseStream(_world: unknown, _exchange: Exchange, target: Target): Promise<Reply> {
  checkScheduled(podOf(target));
  throw badRequest(
    `pods of the sandbox are simulated: there is no process to reach with ${target.subresource}`,
  );
}
