/** Which SidecarSets get in each other's way. Spec: sidecarset 6, end. */
import fc from "fast-check";
import t from "tap";
import {
  compileSelector,
  formatFieldErrors,
  type LabelSelector,
  type LabelSelectorRequirement,
} from "../../kube/core/index.ts";
import { selectorsMayOverlap, sidecarSetConflicts } from "./conflicts.ts";
import type { SidecarContainer, SidecarSet, SidecarSetSpec } from "./schema.ts";

const app = { matchLabels: { app: "a" } };

function set(name: string, spec: SidecarSetSpec, annotations: Record<string, string> = {}): SidecarSet {
  return { metadata: { name, annotations }, spec: { selector: app, ...spec } };
}

const conflicts = (next: SidecarSet, ...others: SidecarSet[]) =>
  formatFieldErrors(sidecarSetConflicts(next, others));

t.test("containers with one name", (t) => {
  const one = set("one", { containers: [{ name: "c" }], initContainers: [{ name: "i" }] });
  t.equal(
    conflicts(set("two", { containers: [{ name: "c" }] }), one),
    'spec.containers: Invalid value: "c": container c already exist in one',
  );
  t.equal(
    conflicts(set("two", { initContainers: [{ name: "i" }] }), one),
    'spec.containers: Invalid value: "i": container i already exist in one',
  );
  t.equal(conflicts(set("two", { containers: [{ name: "i" }] }), one), "", "init containers are apart");
  t.equal(conflicts(set("one", { containers: [{ name: "c" }] }), one), "", "a set and its former self");
  const elsewhere = { selector: { matchLabels: { app: "b" } }, containers: [{ name: "c" }] };
  t.equal(conflicts(set("two", elsewhere), one), "", "other pods");
  t.end();
});

t.test("containers that HotUpgrade makes", (t) => {
  const hot = (name: string) => ({
    name,
    upgradeStrategy: { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "e" },
  });
  const mesh = set("one", { containers: [hot("mesh")] });
  const refused = (name: string, taken: string) =>
    `spec.containers: Invalid value: "${name}": container ${taken} already exist in one`;
  const having = (container: SidecarContainer) => set("two", { containers: [container] });
  t.equal(conflicts(having({ name: "mesh" }), mesh), refused("mesh", "mesh"));
  t.equal(conflicts(having({ name: "mesh-2" }), mesh), refused("mesh-2", "mesh-2"));
  t.equal(conflicts(having(hot("mesh")), mesh), refused("mesh", "mesh"));
  t.equal(conflicts(having(hot("mesh-1")), mesh), "", "mesh-1-1 and mesh-1-2 are nobody else's");
  t.equal(
    conflicts(having(hot("mesh")), set("one", { containers: [{ name: "mesh-1" }] })),
    refused("mesh", "mesh-1"),
  );
  const init = (name: string, one: SidecarContainer) => set(name, { initContainers: [one] });
  const native = { ...hot("mesh"), restartPolicy: "Always" };
  t.equal(conflicts(init("two", { name: "mesh-2" }), init("one", native)), refused("mesh-2", "mesh-2"));
  t.equal(
    conflicts(init("two", { name: "mesh-2" }), init("one", hot("mesh"))),
    "",
    "a plain init container stays one",
  );
  t.end();
});

t.test("namespaces", (t) => {
  const within = (name: string, namespace?: string) =>
    set(name, {
      containers: [{ name: "c" }],
      ...(namespace ? { namespaceSelector: { matchLabels: { name: namespace } } } : {}),
    });
  t.not(conflicts(within("two", "x"), within("one")), "");
  t.not(conflicts(within("two", "x"), within("one", "x")), "");
  t.equal(conflicts(within("two", "x"), within("one", "y")), "");
  t.end();
});

t.test("volumes of one name must be the same", (t) => {
  const volume = (name: string, path: string) => set(name, { volumes: [{ name: "v", hostPath: { path } }] });
  t.equal(conflicts(volume("two", "/a"), volume("one", "/a")), "");
  const claimed = (name: string, more: object) =>
    set(name, { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c", ...more } }] });
  t.equal(conflicts(claimed("two", {}), claimed("one", { readOnly: false })), "", "zeros mean nothing");
  t.not(conflicts(claimed("two", {}), claimed("one", { readOnly: true })), "");
  t.equal(
    conflicts(volume("two", "/b"), volume("one", "/a")),
    'spec.volumes: Invalid value: "v": volume v is in conflict with sidecarset one',
  );
  t.end();
});

t.test("annotations", (t) => {
  const patching = (name: string, patchPolicy: string) =>
    set(name, { patchPodMetadata: [{ annotations: { k: "1" }, patchPolicy }] });
  const words = 'spec.patchPodMetadata: Invalid value: "k": annotation k is in conflict with sidecarset one';
  for (const [ours, theirs, expected] of [
    ["Retain", "Overwrite", ""],
    ["Overwrite", "Retain", ""],
    ["MergePatchJson", "MergePatchJson", ""],
    ["MergePatchJson", "Overwrite", words],
    ["Overwrite", "MergePatchJson", words],
    ["Overwrite", "Overwrite", words],
  ] as const)
    t.equal(conflicts(patching("two", ours), patching("one", theirs)), expected, `${ours}, ${theirs}`);
  t.end();
});

t.test("a canary and its base share everything", (t) => {
  const annotations = {
    "apps.kruise.io/sidecarset-canary": "true",
    "apps.kruise.io/sidecarset-base": "base",
  };
  const base = set("base", { containers: [{ name: "c" }] });
  const canary = set("canary", { containers: [{ name: "c" }] }, annotations);
  t.equal(conflicts(canary, base), "");
  t.equal(conflicts(base, canary), "");
  t.not(conflicts(canary, set("third", { containers: [{ name: "c" }] })), "");
  t.end();
});

t.test("a selector that cannot be read selects nothing", (t) => {
  t.equal(selectorsMayOverlap({ matchLabels: { "?": "a" } }, app), false);
  t.end();
});

const key = fc.constantFrom("a", "b");
const value = fc.constantFrom("x", "y", "z");
const operator: fc.Arbitrary<LabelSelectorRequirement["operator"]> = fc.constantFrom(
  "In",
  "NotIn",
  "Exists",
  "DoesNotExist",
);
const requirement = fc
  .record({ key, operator, values: fc.uniqueArray(value, { minLength: 1 }) })
  .map(
    ({ values, ...rest }): LabelSelectorRequirement =>
      rest.operator === "In" || rest.operator === "NotIn" ? { ...rest, values } : rest,
  );
/** One requirement a key: what two of one key have in common is not worked out. */
const selector: fc.Arbitrary<LabelSelector> = fc.oneof(
  fc.record({ matchLabels: fc.dictionary(key, value, { minKeys: 1, maxKeys: 2 }) }),
  fc.record({
    matchExpressions: fc.uniqueArray(requirement, {
      selector: ({ key }) => key,
      minLength: 1,
      maxLength: 2,
    }),
  }),
);

const values = [undefined, "x", "y", "z", "other"];
const everyLabelSet = values.flatMap((a) =>
  values.map((b) => ({ ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) })),
);

/** Keys on which one selector wants any value and the other no certain one, which counts as disjoint. */
function hasLonelyExists(one: LabelSelector, other: LabelSelector): boolean {
  const wanted = new Set([
    ...Object.keys(other.matchLabels ?? {}),
    ...(other.matchExpressions ?? [])
      .filter(({ operator }) => operator === "In" || operator === "Exists")
      .map(({ key }) => key),
  ]);
  return (one.matchExpressions ?? []).some(({ operator, key }) => operator === "Exists" && !wanted.has(key));
}

t.test("two selectors overlap exactly if some label set matches both", (t) => {
  fc.assert(
    fc.property(selector, selector, (one, other) => {
      const [a, b] = [compileSelector(one), compileSelector(other)];
      const shared = everyLabelSet.some((labels) => a.matches(labels) && b.matches(labels));
      const lonely = hasLonelyExists(one, other) || hasLonelyExists(other, one);
      return selectorsMayOverlap(one, other) === (shared && !lonely);
    }),
    { numRuns: 5000, seed: 26 },
  );
  t.end();
});
