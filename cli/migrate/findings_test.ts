import fc from "fast-check";
import t from "tap";
import { parseFeatureGates } from "../../controller/index.ts";
import { barePod } from "../../testkit/controller/pod_builder.ts";
import { differencesOf, type Surroundings } from "./differences.ts";
import type { MigrationFacts } from "./facts.ts";
import { findingsOf, restartCount } from "./findings.ts";
import { touchesOf } from "./touch.ts";

const manager = {
  kind: "Deployment",
  name: "kruise-controller-manager",
  replicas: 2,
  images: ["openkruise/kruise-manager:v1.9.0"],
  flags: [],
  ours: false,
} as const;
const facts: MigrationFacts = {
  namespace: "kruise-system",
  namespaceExists: true,
  objects: { CloneSet: 2 },
  workloads: [manager],
  definitions: [{ name: "clonesets.apps.kruise.io", served: ["v1alpha1"], stored: ["v1alpha1"] }],
  webhooks: [
    { name: "kruise-mutating-webhook-configuration", backends: ["kruise-system/kruise-webhook-service"] },
  ],
  planned: [
    { object: "CloneSet a/b", summary: "2 of 2 pods", touches: [{ pod: "a/b-1", effect: "patched" }] },
  ],
  unplanned: [],
  differences: ["something"],
  unread: [],
};
const inTheWay = (changed: Partial<MigrationFacts>) =>
  findingsOf({ ...facts, ...changed }).flatMap((finding) => (finding.inTheWay ? [finding.message] : []));

t.test("a cluster at rest has nothing in the way", async (t) => {
  t.same(inTheWay({}), []);
  t.equal(restartCount(facts), 0);
});

t.test("what would restart pods, cannot be read or belongs to another namespace is in the way", async (t) => {
  const touches = [
    { pod: "a/b-1", effect: "deleted" },
    { pod: "a/b-2", effect: "updated" },
  ] as const;
  const planned = [
    { object: "CloneSet a/b", summary: "2 of 2 pods", touches },
    { object: "SidecarSet s", summary: "2 pods", touches: touches.slice(1), newRevision: "s-1" },
  ];
  const [rollout = "", revision = "", ...rest] = inTheWay({ planned });
  t.match(rollout, /a\/b-1 deleted, a\/b-2 updated: a rollout is under way/);
  t.match(revision, /SidecarSet s: its template has no revision that is recognised; s-1 would be made/);
  t.equal(rest.length, 1);
  t.equal(restartCount({ planned }), 2, "each pod once");
  const [definition] = facts.definitions;
  const changes: readonly (readonly [Partial<MigrationFacts>, RegExp])[] = [
    [{ namespaceExists: false }, /there is no namespace kruise-system: name the manager's/],
    [{ workloads: [] }, /no manager in namespace kruise-system/],
    [{ gatesError: "unrecognized feature gate: X" }, /feature gates of the manager: .*X/],
    [{ webhooks: [{ name: "w", backends: ["other/service"] }] }, /in another namespace/],
    [
      { definitions: definition === undefined ? [] : [{ ...definition, stored: ["v1"] }] },
      /stored as v1, which is not known here/,
    ],
    [{ unplanned: [{ object: "CloneSet a/c", error: "no template" }] }, /cannot be planned: no template/],
    [{ unread: ["DaemonSet: forbidden"] }, /not read: DaemonSet: forbidden/],
  ];
  for (const [change, message] of changes) t.match(inTheWay(change)[0], message);
});

t.test("a pod counts once, with the gravest of what is done to it, whatever the order", async (t) => {
  const pod = barePod("p");
  const onPod = { id: "", pod, after: pod, effects: [], begins: false, leaves: false } as const;
  const deleted = { ...onPod, type: "delete pod", concern: "scale", lane: "begin" } as const;
  const patched = { ...onPod, type: "patch pod", concern: "refresh", lane: "finish" } as const;
  const updated = { ...patched, concern: "update", lane: "begin", begins: true } as const;
  const ranks = ["patched", "updated", "deleted"] as const;
  const actions = [patched, updated, deleted];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 6 }), (chosen) => {
      const touches = touchesOf(chosen.flatMap((index) => actions[index] ?? []));
      const effect = ranks[Math.max(...chosen)];
      t.strictSame(touches, [{ pod: `${pod.namespace}/p`, effect }]);
    }),
    { seed: 16, numRuns: 300 },
  );
  t.same(touchesOf([{ type: "delete workload", id: "", lane: "at once", name: "app", effects: [] }]), []);
});

t.test("what behaves otherwise is named, with the object", async (t) => {
  const nothing: Surroundings = {
    objects: new Map(),
    namespaces: [{ metadata: { name: "kruise-system", labels: { "control-plane": "openkruise" } } }],
    servedNamespaces: undefined,
    configuration: undefined,
    gates: parseFeatureGates(),
    flags: ["v"],
    knownFlags: new Set(["v"]),
  };
  t.same(differencesOf(nothing), []);
  const upgrade = { upgradeType: "HotUpgrade" };
  const plain = { metadata: { name: "p" }, spec: { initContainers: [{ upgradeStrategy: upgrade }] } };
  const native = {
    metadata: { name: "n" },
    spec: { initContainers: [{ upgradeStrategy: upgrade, restartPolicy: "Always" }] },
  };
  const found = differencesOf({
    objects: new Map([
      [
        "SidecarSet",
        [{ metadata: { name: "s" }, spec: { containers: [{ upgradeStrategy: upgrade }] } }, plain, native],
      ],
      ["ImageListPullJob", [{ metadata: { namespace: "a", name: "i" } }]],
      [
        "ContainerRecreateRequest",
        [
          { metadata: { namespace: "a", name: "c" } },
          { metadata: { namespace: "a", name: "d" }, status: { phase: "Completed" } },
        ],
      ],
      [
        "DaemonSet",
        [
          {
            metadata: { namespace: "a", name: "d" },
            spec: { updateStrategy: { rollingUpdate: { partition: "5%" } } },
          },
        ],
      ],
    ]),
    namespaces: [{ metadata: { name: "x", labels: { "control-plane": "y" } } }],
    servedNamespaces: undefined,
    configuration: { metadata: {}, data: { PPS_Watch_Custom_Workload_WhiteList: "{}" } },
    gates: parseFeatureGates(
      "ResourceDistributionGate=true,ResourcesDeletionProtection=true,DeletionProtectionForCRDCascadingGate=true",
    ),
    flags: ["vv"],
    knownFlags: new Set(["v"]),
  });
  t.equal(found.length, 11);
  for (const word of [
    "--vv",
    "--distribute-resources",
    "--guard-definitions",
    "namespace x",
    "managedFields",
    "SidecarSet s ",
    "SidecarSet n ",
    "a/i",
    "a/c",
    "a/d",
  ])
    t.ok(
      found.some((line) => line.includes(word)),
      word,
    );
});

t.test(
  "namespaces with the label control-plane are named if the former manager serves their pods",
  async (t) => {
    const value = fc.constantFrom(undefined, "", "openkruise", "controller-manager", "x");
    const name = fc.constantFrom("shop", "kube-system", "kruise-system");
    const chart = {
      matchExpressions: [
        { key: "control-plane", operator: "NotIn" as const, values: ["openkruise"] },
        { key: "kubernetes.io/metadata.name", operator: "NotIn" as const, values: ["kube-system"] },
      ],
    };
    const plain = { matchExpressions: [{ key: "control-plane", operator: "DoesNotExist" as const }] };
    const selector = fc.constantFrom(undefined, chart, plain);
    fc.assert(
      fc.property(name, value, selector, (name, label, servedNamespaces) => {
        const labels: Record<string, string> = label === undefined ? {} : { "control-plane": label };
        const found = differencesOf({
          objects: new Map(),
          namespaces: [{ metadata: { name, labels } }],
          servedNamespaces,
          configuration: undefined,
          gates: parseFeatureGates(),
          flags: [],
          knownFlags: new Set(),
        });
        const isNamed = label !== undefined && label !== "openkruise" && name !== "kube-system";
        const expected = isNamed && servedNamespaces !== plain ? [`namespace ${name} has the label`] : [];
        t.same(
          found.map((sentence) => sentence.slice(0, sentence.indexOf(" control-plane"))),
          expected,
        );
      }),
      { seed: 23, numRuns: 300 },
    );
  },
);

t.test(
  "what becomes of managedFields is said where there are workloads, unless the flag keeps them",
  async (t) => {
    const said = (kind: string, flags: readonly string[]) =>
      differencesOf({
        objects: new Map([[kind, [{ metadata: { name: "a" } }]]]),
        namespaces: [],
        servedNamespaces: undefined,
        configuration: undefined,
        gates: parseFeatureGates(),
        flags,
        knownFlags: new Set(flags),
      }).filter((sentence) => sentence.includes("managedFields"));
    for (const kind of ["CloneSet", "StatefulSet", "DaemonSet"]) {
      t.match(said(kind, []), [
        /^managedFields of the pods of workloads .*--keep-managed-fields keeps them$/,
      ]);
      t.same(said(kind, ["keep-managed-fields"]), []);
    }
    t.same(said("ImagePullJob", []), []);
  },
);
