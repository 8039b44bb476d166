/** A second reading of what a subset's workload is, step by step as the spec's text has it. Spec: uniteddeployment, rules 22 to 26. */
import fc from "fast-check";
import t from "tap";
import { cloneJson, isJsonObject, type JsonObject } from "../../../kube/core/index.ts";
import { childManifest, type Subset } from "./child_manifest.ts";
import { workloadKinds } from "./workloads.ts";

const REVISION = "apps.kruise.io/controller-revision-hash";
const SUBSET = "apps.kruise.io/subset-name";
const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

const some = <T extends Record<string, unknown>>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(members, { requiredKeys: [] });
const always = <T>(value: T) => fc.constant(value);

const expressions = [
  { key: "zone", operator: "In", values: ["a"] },
  { key: "disk", operator: "Exists" },
];
const term = fc.constantFrom<JsonObject>(
  {},
  { matchExpressions: [{ key: "q", operator: "Exists" }] },
  { matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] },
);
const affinity = some({
  podAffinity: always({}),
  nodeAffinity: some({
    preferredDuringSchedulingIgnoredDuringExecution: always([]),
    [REQUIRED]: some({ nodeSelectorTerms: fc.array(term, { maxLength: 2 }) }),
  }),
});
const labels = always({ app: "web", [SUBSET]: "of another", constructor: "c" });
const strategy = some({
  type: fc.constantFrom("", "RollingUpdate", "OnDelete"),
  rollingUpdate: some({ partition: fc.nat(9), maxUnavailable: always(1) }),
});
const template = some({
  metadata: some({ labels, annotations: always({ q: "r" }), name: always("nobody's") }),
  spec: some({
    replicas: fc.nat(9),
    updateStrategy: strategy,
    template: some({
      metadata: some({ labels }),
      spec: some({ containers: always([{ name: "m" }]), tolerations: always([{ key: "a" }]), affinity }),
    }),
  }),
});
const subset: fc.Arbitrary<Subset> = fc.record(
  {
    name: fc.constantFrom("a", "constructor"),
    nodeSelectorTerm: some({ matchExpressions: always(expressions), matchFields: always([]) }),
    tolerations: always([{ key: "a" }, { key: "b" }]),
  },
  { requiredKeys: ["name"] },
);

/** A member that is an object, made where there is none. */
function made(object: JsonObject, ...path: string[]): JsonObject {
  return path.reduce((holder, key) => {
    const value = holder[key];
    const present = isJsonObject(value) ? value : {};
    holder[key] = present;
    return present;
  }, object);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Into the copy of the template, in the order of the text. */
function asWritten(
  kind: string,
  workload: JsonObject,
  given: Subset,
  replicas: number,
  partition: number,
): JsonObject {
  const { name, nodeSelectorTerm, tolerations } = given;
  const spec = made(workload, "spec");
  spec["selector"] = { matchLabels: { app: "web", [SUBSET]: name } };
  spec["replicas"] = replicas;
  Object.assign(made(spec, "template", "metadata", "labels"), { [SUBSET]: name, [REVISION]: "web-1" });
  const pod = made(spec, "template", "spec");
  const added = nodeSelectorTerm?.matchExpressions ?? [];
  if (added.length > 0) {
    const demand = made(pod, "affinity", "nodeAffinity", REQUIRED);
    const terms = listOf(demand["nodeSelectorTerms"]).filter(isJsonObject);
    if (terms.length === 0) terms.push({});
    for (const each of terms) each["matchExpressions"] = [...listOf(each["matchExpressions"]), ...added];
    demand["nodeSelectorTerms"] = terms;
  }
  if (tolerations) pod["tolerations"] = [...listOf(pod["tolerations"]), ...tolerations];
  if (kind === "deploymentTemplate") return spec;
  const isOnDelete = made({ ...spec }, "updateStrategy")["type"] === "OnDelete";
  // Of a CloneSet always; half a rolling update it could not have (docs/compatibility.md).
  const isWhole = isJsonObject(made({ ...spec }, "updateStrategy")["rollingUpdate"]);
  if (isOnDelete && !(kind === "cloneSetTemplate" && isWhole)) return spec;
  made(spec, "updateStrategy", "rollingUpdate")["partition"] = partition;
  if (kind === "statefulSetTemplate") made(spec, "updateStrategy")["type"] = "RollingUpdate";
  return spec;
}

t.test("a workload is what the text makes of its template", async (t) => {
  const kinds = fc.constantFrom(...Object.values(workloadKinds));
  fc.assert(
    fc.property(kinds, template, subset, fc.nat(9), fc.nat(9), (kind, given, one, replicas, partition) => {
      const selector = { matchLabels: { app: "web" } };
      const object = { metadata: { name: "web" }, spec: { selector, template: { [kind.template]: given } } };
      const found = childManifest(object, kind, { subset: one, revision: "web-1", replicas, partition });
      const said = JSON.stringify([kind.template, given, one]);
      const own = { app: "web", [REVISION]: "web-1", [SUBSET]: one.name };
      t.same(found.labels, { ...given.metadata?.labels, ...own }, said);
      t.same(found.annotations, { ...given.metadata?.annotations, "apps.kruise.io/subset-patch": "" });
      t.same(found.spec, asWritten(kind.template, cloneJson({ ...given }), one, replicas, partition), said);
    }),
    { numRuns: 500, seed: 47 },
  );
});
