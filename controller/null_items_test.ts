/**
 * Templates with nulls, as charts make them: `tolerations:` with a lone `-`. What the API server reads as an empty item is one here,
 * too: admission refuses it where it looks, and a plan makes pods that the server can refuse.
 */
import t from "tap";
import { cloneSet, daemonSet, statefulSet, validateCloneSet, validateDaemonSet } from "../crds/index.ts";
import { isJsonObject, type JsonObject } from "../kube/core/index.ts";
import type { Resource } from "../kube/index.ts";
import * as cloneSets from "../testkit/controller/clone_set_model.ts";
import * as daemonSets from "../testkit/controller/daemon_set_model.ts";
import * as statefulSets from "../testkit/controller/stateful_set_model.ts";
import { randomOf } from "../testkit/controller/workload_history.ts";
import { planCloneSet } from "./kinds/clone_set/plan.ts";
import { cloneSetState } from "./kinds/clone_set/state.ts";
import { planDaemonSet } from "./kinds/daemon_set/plan.ts";
import { daemonSetState } from "./kinds/daemon_set/state.ts";
import { planStatefulSet } from "./kinds/stateful_set/plan.ts";
import { statefulSetState } from "./kinds/stateful_set/state.ts";
import { cloneSetResource, daemonSetResource, statefulSetResource } from "./plan/resources.ts";
import type { Action } from "./rollout/writes/actions.ts";

const main = { name: "main", image: "app:1" };
const required = "requiredDuringSchedulingIgnoredDuringExecution";
const terms = (nodeSelectorTerms: unknown) => ({
  affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } },
});
/** By what the API server names of it. */
const specs: Readonly<Record<string, object>> = {
  "spec.template.spec.containers": { containers: null },
  "spec.template.spec.containers[0].name": { containers: [null] },
  "spec.template.spec.containers[0].env[0].name": { containers: [{ ...main, env: [null] }] },
  "spec.template.spec.volumes[0].name": { volumes: [null] },
  "spec.template.spec.readinessGates[0].conditionType": { readinessGates: [null] },
  "spec.template.spec.tolerations[0].operator": { tolerations: [null] },
  "spec.template.spec.topologySpreadConstraints[0].maxSkew": { topologySpreadConstraints: [null] },
  [`spec.template.spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchFields[0].operator`]:
    terms([{ matchFields: [null] }]),
  [`spec.template.spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].key`]:
    terms([{ matchExpressions: [null] }]),
};
const templateOf = (spec: object, labels: object) => ({
  metadata: { labels, annotations: null },
  spec: { containers: [main], nodeSelector: null, ...spec },
});

/** As a watch brings the object. */
function decoded<T>({ codec }: Pick<Resource<T>, "codec">, object: unknown): T {
  return codec.decode(new TextEncoder().encode(JSON.stringify(object)), codec.accept);
}

function withTemplate(object: { readonly spec: object }, spec: object, more: object = {}): JsonObject {
  const { template } = { template: undefined, ...object.spec };
  const { metadata } = { metadata: {}, ...(isJsonObject(template) ? template : {}) };
  const { labels } = { labels: {}, ...(isJsonObject(metadata) ? metadata : {}) };
  return { ...object, spec: { ...object.spec, template: templateOf(spec, labels), ...more } };
}

/** Pods that the first two passes make. */
function created(
  model: { perform(action: Action): void },
  plan: () => { readonly actions: readonly Action[] },
): number {
  for (const action of plan().actions) model.perform(action);
  return plan().actions.filter(({ type }) => type === "create pod").length;
}

const random = randomOf(23);
function createdByCloneSet(object: JsonObject): number {
  const model = new cloneSets.Model(decoded(cloneSetResource, object));
  const options = cloneSets.defaultOptions;
  return created(model, () =>
    planCloneSet(cloneSetState({ observed: model.observed(), options, now: model.now, random })),
  );
}
function createdByStatefulSet(object: JsonObject): number {
  const model = new statefulSets.Model(decoded(statefulSetResource, object));
  const options = statefulSets.defaultOptions;
  return created(model, () =>
    planStatefulSet(statefulSetState({ observed: model.observed(), options, now: model.now, random })),
  );
}
function createdByDaemonSet(object: JsonObject): number {
  const model = new daemonSets.Model(decoded(daemonSetResource, object));
  const options = daemonSets.defaultOptions;
  return created(model, () =>
    planDaemonSet(daemonSetState({ observed: model.observed(), options, now: model.now, random })),
  );
}

t.test("plans of all kinds make pods of them, or find no node that they fit", async (t) => {
  for (const [what, spec] of Object.entries(specs)) {
    t.equal(createdByCloneSet(withTemplate(cloneSets.cloneSet("web"), spec)), 3, what);
    t.equal(createdByStatefulSet(withTemplate(statefulSets.statefulSet("web"), spec)), 1, what);
    const isForNodes = what.includes("nodeSelectorTerms");
    t.equal(createdByDaemonSet(withTemplate(daemonSets.daemonSet(), spec)), isForNodes ? 0 : 3, what);
  }
});

t.test("claims without a name, or without anything, make no plan fail", async (t) => {
  for (const claim of [null, {}, { metadata: null, spec: {} }, { spec: {} }]) {
    const more = { volumeClaimTemplates: [claim] };
    t.equal(createdByCloneSet(withTemplate(cloneSets.cloneSet("web"), {}, more)), 3);
    t.equal(createdByStatefulSet(withTemplate(statefulSets.statefulSet("web"), {}, more)), 1);
  }
});

t.test("admission names them as the API server does", async (t) => {
  for (const [path, spec] of Object.entries(specs)) {
    const clones = cloneSet.read(withTemplate(cloneSets.cloneSet("web"), spec));
    const daemons = daemonSet.read(withTemplate(daemonSets.daemonSet(), spec));
    const sets = statefulSet.read(withTemplate(statefulSets.statefulSet("web"), spec));
    if ("errors" in clones || "errors" in daemons || "errors" in sets) throw new Error(path);
    const lookup = { allowPrivileged: true, findPod: () => undefined };
    t.ok(
      validateCloneSet(clones, undefined, lookup).some((error) => error.path === path),
      path,
    );
    const errors = validateDaemonSet(daemons, undefined, { hostNetworkPorts: false });
    t.ok(
      errors.some((error) => error.path === path),
      path,
    );
  }
});
