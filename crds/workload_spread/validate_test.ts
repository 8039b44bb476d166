import t, { type Test } from "tap";
import { formatFieldErrors } from "../../kube/core/index.ts";
import { spreadPatchErrors } from "./patch_errors.ts";
import type { WorkloadSpread, WorkloadSpreadSpec } from "./schema.ts";
import { validateWorkloadSpread } from "./validate.ts";

const targetRef = { apiVersion: "apps.kruise.io/v1alpha1", kind: "CloneSet", name: "web" };

function spread(spec: Partial<WorkloadSpreadSpec> = {}, name = "ws"): WorkloadSpread {
  return { metadata: { name }, spec: { targetRef, subsets: [{ name: "a" }], ...spec } };
}

function errorsOf(
  next: WorkloadSpread,
  old?: WorkloadSpread,
  others: readonly WorkloadSpread[] = [],
): string {
  const context = {
    others,
    isListed: (group: string, kind: string) => `${group}/${kind}` === "games.io/Game",
    patchErrors: () => [],
  };
  return formatFieldErrors(validateWorkloadSpread(next, old, context));
}

function refused(t: Test, spec: Partial<WorkloadSpreadSpec>, words: string): void {
  const text = errorsOf(spread(spec));
  t.ok(text.includes(words), `${text} has ${words}`);
}

const caps = (...all: (number | string | undefined)[]): Pick<WorkloadSpreadSpec, "subsets"> => ({
  subsets: all.map((maxReplicas, index) => ({
    name: `s${index}`,
    ...(maxReplicas === undefined ? {} : { maxReplicas }),
  })),
});

t.test("targets", async (t) => {
  t.equal(errorsOf(spread()), "");
  const of = (apiVersion: string, kind: string, name = "web") => ({ targetRef: { apiVersion, kind, name } });
  t.equal(errorsOf(spread(of("apps/v1", "StatefulSet"))), "");
  t.equal(errorsOf(spread(of("games.io/v1", "Game"))), "");
  refused(t, of("", "CloneSet"), "empty TargetReference is not valid for WorkloadSpread.");
  refused(t, of("apps/v1", "CloneSet"), "TargetReference is not valid for CloneSet.");
  refused(t, of("apps/v1", "DaemonSet"), "TargetReference's GroupKind is not permitted.");
  const rival = "ws.spec.targetRef is in conflict with other WorkloadSpread first";
  t.ok(errorsOf(spread(), undefined, [spread({}, "first")]).includes(rival));
  t.equal(errorsOf(spread(), undefined, [spread({}, "ws")]), "");
  const changed = "change TargetReference is not permitted for WorkloadSpread";
  t.ok(errorsOf(spread(), spread(of("apps.kruise.io/v1beta1", "CloneSet", "other"))).includes(changed));
  t.equal(errorsOf(spread(), spread(of("apps.kruise.io/v1beta1", "CloneSet"))), "");
});

t.test("subsets and their caps", async (t) => {
  refused(t, { subsets: [] }, "subsets number must >= 1 in WorkloadSpread");
  refused(t, { subsets: [{ name: "" }] }, "spec.subsets[0].name: Required value");
  refused(t, { subsets: [{ name: "a" }, { name: "a" }] }, "duplicated subset name a");
  refused(t, caps(1, "10%"), "the maxReplicas type of all subsets must be the same");
  for (const cap of [-1, "-1%", "0.2%", "ten"]) refused(t, caps(cap), "maxReplicas is not valid for subset");
  refused(t, caps("60%", "50%"), "the sum of all subset's maxReplicas exceeds 100% is no permitted");
  refused(
    t,
    caps("60%", "30%"),
    "maxReplicas sum of all subsets must equal 100% when type is specified as percent",
  );
  t.equal(errorsOf(spread(caps("60%", "40%"))), "");
  t.equal(errorsOf(spread(caps("60%", undefined))), "");
  const stateful = { targetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" } };
  refused(t, { ...caps("50%"), ...stateful }, "the maxReplicas type must be Int for StatefulSet");
  const requirement = { key: "zone", operator: "In" };
  refused(
    t,
    { subsets: [{ name: "a", requiredNodeSelector: { matchExpressions: [requirement] } }] },
    "spec.subsets[0].requiredNodeSelector.matchExpressions[0].values: Required value",
  );
  const preferred = [
    { weight: 101, preference: { matchExpressions: [{ key: "zone", operator: "Exists" }] } },
  ];
  refused(
    t,
    { subsets: [{ name: "a", preferredNodeSelector: preferred }] },
    "spec.subsets[0].preferredNodeSelector[0].weight",
  );
  refused(
    t,
    { subsets: [{ name: "a", tolerations: [{ operator: "Odd", key: "k" }] }] },
    "spec.subsets[0].tolerations[0]",
  );
});

t.test("strategy and filter", async (t) => {
  const adaptive = (rescheduleCriticalSeconds: number, of: Pick<WorkloadSpreadSpec, "subsets">) => ({
    ...of,
    scheduleStrategy: { type: "Adaptive" as const, adaptive: { rescheduleCriticalSeconds } },
  });
  t.equal(errorsOf(spread(adaptive(295, caps(1, undefined)))), "");
  refused(t, adaptive(296, caps(1, undefined)), "rescheduleCriticalSeconds > 295 is not permitted");
  refused(t, adaptive(148, caps(1, 1, undefined)), "rescheduleCriticalSeconds > 147 is not permitted");
  refused(t, adaptive(-1, caps(1)), "rescheduleCriticalSeconds < 0");
  refused(t, adaptive(1, caps(1, 1)), "the last subset's maxReplicas must be not specified");
  refused(
    t,
    { scheduleStrategy: { type: "Fixed", adaptive: {} } },
    "the scheduleStrategy's type must be adaptive when using adaptive scheduleStrategy",
  );
  const selector = { matchExpressions: [{ key: "role", operator: "In" as const, values: [] }] };
  refused(t, { targetFilter: { selector } }, "spec.targetFilter");
});

t.test("patches are tried on the workload's template", async (t) => {
  const workload = {
    spec: {
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "app", image: "i" }] } },
    },
  };
  const of = (patch: Record<string, unknown>) =>
    formatFieldErrors(spreadPatchErrors(workload, { name: "a", patch }, "spec.subsets[0].patch"));
  t.equal(of({ metadata: { labels: { pool: "a" } } }), "");
  t.match(of({ spec: { containers: [{ image: "no-name" }] } }), "failed to merge patch: ");
  t.match(of({ spec: { priority: "high" } }), "failed to unmarshal: ");
  t.match(of({ metadata: { labels: { pool: "not valid!" } } }), "spec.subsets[0].patch");
});
