import fc from "fast-check";
import t from "tap";
import type { ResourceDistribution, ResourceDistributionSpec } from "../../../crds/index.ts";
import { applyMergePatch, type JsonObject, jsonEqual, type Labels } from "../../../kube/core/index.ts";
import { type Copy, copyResources } from "./copies.ts";
import { CopyIndex } from "./copy_index.ts";
import { type ObservedNamespace, type ParsedDistribution, parseDistribution, planNamespace } from "./plan.ts";
import { planStatus } from "./status.ts";
import { targetsOf } from "./targets.ts";

const seed = 20_261_123;

function distribution(spec: ResourceDistributionSpec): ResourceDistribution {
  return { metadata: { name: "d", uid: "mine", generation: 1 }, spec };
}

function configMap(data: Labels, metadata: object = {}): ResourceDistributionSpec["resource"] & JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", ...metadata }, data };
}

/** Through bytes, as from the server. */
function seen(object: object, kind: "ConfigMap" | "Secret" = "ConfigMap"): Copy {
  return copyResources[kind].codec.decode(Buffer.from(JSON.stringify(object)), "application/json");
}

const names = ["a", "b", "c", "kube-system", "kube-public"] as const;
const list = fc.record({
  list: fc.array(
    fc.constantFrom(...names).map((name) => ({ name })),
    { maxLength: 3 },
  ),
});
const targets: fc.Arbitrary<ResourceDistributionSpec["targets"]> = fc.record(
  {
    allNamespaces: fc.boolean(),
    includedNamespaces: list,
    excludedNamespaces: list,
    namespaceSelector: fc.constantFrom({}, { matchLabels: { group: "test" } }),
  },
  { requiredKeys: [] },
);
const labels = fc.constantFrom<Labels>({}, { group: "test" }, { group: "other" });
const data = fc.dictionary(fc.constantFrom("x", "y", "z"), fc.constantFrom("1", "2"));

t.test("targets: excluded before all others, never the system's", async () => {
  fc.assert(
    fc.property(
      targets,
      fc.constantFrom(...names),
      fc.option(labels, { nil: undefined }),
      (spec, name, found) => {
        const listed = (each: (typeof spec)["includedNamespaces"]) =>
          (each?.list ?? []).some((entry) => entry.name === name);
        const isSelected =
          Object.keys(spec.namespaceSelector ?? {}).length > 0 && found?.["group"] === "test";
        const wanted = spec.allNamespaces
          ? found !== undefined
          : listed(spec.includedNamespaces) || (found !== undefined && isSelected);
        const isLeftOut = name.startsWith("kube-") || listed(spec.excludedNamespaces);
        return targetsOf({ targets: spec }).includes(name, found) === (wanted && !isLeftOut);
      },
    ),
    { seed, numRuns: 2000 },
  );
});

/** A server with one object of the copy's name in a namespace, or none. */
const stored = fc.option(
  fc.record({
    data,
    owner: fc.constantFrom("mine", "other", ""),
    labels: fc.constantFrom<Labels>({}, { theirs: "1" }),
    deleting: fc.boolean(),
  }),
  { nil: undefined },
);

interface Stored {
  readonly object: JsonObject;
  readonly version: number;
}

function storedObject(
  given: NonNullable<typeof stored extends fc.Arbitrary<infer T> ? T : never>,
): JsonObject {
  const ownerReferences = given.owner === "" ? [] : [{ uid: given.owner, controller: true }];
  const metadata = {
    name: "settings",
    namespace: "a",
    uid: "u",
    labels: given.labels,
    ownerReferences,
    ...(given.deleting ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
  };
  return { metadata, data: given.data };
}

/** Carries out the write of a plan; a version that is not the stored one is refused. Undefined: nothing is there. */
function written(
  wanted: ParsedDistribution,
  place: Omit<ObservedNamespace, "copy">,
  before: Stored | undefined,
  planned = before,
) {
  const copy = planned && seen(versioned(planned));
  const { write } = planNamespace(wanted, { ...place, copy });
  if (write === undefined) return before;
  if (write.type === "create") return before ?? { object: { ...write.body }, version: 1 };
  if (before === undefined || write.copy.resourceVersion !== String(before.version)) return before;
  if (write.type === "delete") return undefined;
  return { object: applyMergePatch(before.object, write.body), version: before.version + 1 };
}

function versioned({ object, version }: Stored): object {
  return {
    ...object,
    metadata: { ...Object(object["metadata"]), uid: "u", resourceVersion: String(version) },
  };
}

t.test(
  "a namespace converges from anything, on what is seen late too, and what is another's stays",
  async () => {
    const place = fc.record({
      name: fc.constant("a"),
      namespace: fc.option(fc.record({ labels, deleting: fc.boolean() }), { nil: undefined }),
    });
    fc.assert(
      fc.property(targets, data, place, stored, stored, (spec, content, at, early, late) => {
        const wanted = parseDistribution(distribution({ resource: configMap(content), targets: spec }));
        const stale = early && { object: storedObject(early), version: 1 };
        const start = late && { object: storedObject(late), version: 2 };
        let now = written(wanted, at, start, stale);
        // A crash may come after any write: the next plan sees what it left.
        for (let pass = 0; pass < 3; pass++) now = written(wanted, at, now);
        const isOwn = late?.owner === "mine";
        const isUsable = at.namespace !== undefined && !at.namespace.deleting;
        if (late !== undefined && !isOwn) return now === start;
        if (!isUsable) return late === undefined || now === start;
        if (!targetsOf({ targets: spec }).includes("a", at.namespace?.labels))
          return isOwn && late?.deleting ? now === start : now === undefined;
        const plan = planNamespace(wanted, { ...at, copy: now && seen(versioned(now)) });
        return (
          plan.write === undefined &&
          plan.failure === undefined &&
          jsonEqual(now?.object["data"] ?? {}, content) &&
          (late?.labels["theirs"] === undefined ||
            jsonEqual(Object(now?.object["metadata"]).labels, late.labels))
        );
      }),
      { seed, numRuns: 3000 },
    );
  },
);

t.test("the index counts as if it looked at all namespaces again", async () => {
  const outcome = fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    target: fc.boolean(),
    type: fc.constantFrom(undefined, "ConflictOccurred" as const, "CreateResourceFailed" as const),
  });
  const wanted = parseDistribution(distribution({ resource: configMap({}), targets: {} }));
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 20 }), (outcomes) => {
      const index = new CopyIndex(wanted, 1, []);
      const last = new Map<string, (typeof outcomes)[number]>();
      for (const each of outcomes) {
        const failure = each.type && { type: each.type, reason: each.type };
        index.settle(each.name, { target: each.target, failure });
        last.set(each.name, each);
      }
      const { desired, failed, failures } = index.tally;
      const inTargets = [...last.values()].filter(({ target }) => target);
      const conflicts = [...last.values()].filter(({ type }) => type === "ConflictOccurred");
      return (
        desired === inTargets.length &&
        failed === inTargets.filter(({ type }) => type !== undefined).length &&
        (failures.get("ConflictOccurred")?.size ?? 0) === conflicts.length
      );
    }),
    { seed, numRuns: 1000 },
  );
});

t.test("what changed is looked at first, each name once", async (t) => {
  const index = new CopyIndex(
    parseDistribution(
      distribution({ resource: configMap({}), targets: { includedNamespaces: { list: [{ name: "b" }] } } }),
    ),
    1,
    ["d", "c", "a"],
  );
  index.touch("new");
  index.touch("c");
  t.same(index.take(3), ["new", "c", "a"]);
  t.notOk(index.isComplete);
  t.same(index.take(9), ["b", "d"]);
  t.ok(index.isComplete);
  t.notOk(index.hasWork);
});

t.test("a creation: both annotations, the owner, and the resource's namespace does not count", async (t) => {
  const resource = configMap({ mode: "<one>" }, { namespace: "elsewhere", labels: { l: "1" } });
  const wanted = parseDistribution(distribution({ resource, targets: { allNamespaces: true } }));
  const { write } = planNamespace(wanted, {
    name: "a",
    namespace: { labels: {}, deleting: false },
    copy: undefined,
  });
  t.match(write, {
    type: "create",
    body: {
      data: { mode: "<one>" },
      metadata: {
        labels: { l: "1" },
        annotations: {
          "kruise.io/resourcedistribution.resource.from": "d",
          // Of {"apiVersion":"v1","data":{"mode":"\u003cone\u003e"},"kind":"ConfigMap","metadata":{…}}.
          "kruise.io/resourcedistribution.resource.hashcode":
            "c5bb8fe3c7dc33d6b9def1a954d6f378b1da5722c4430a3bff279be3acf5c4ab",
        },
        ownerReferences: [
          {
            apiVersion: "apps.kruise.io/v1beta1",
            kind: "ResourceDistribution",
            name: "d",
            uid: "mine",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    },
  });
  // The executor gives it the name and the namespace of the effect.
  const { metadata } = write?.type === "create" ? write.body : {};
  t.notMatch(metadata, { namespace: String });
});

t.test("labels alone reach no copy; with the data they do, and those of others stay", async (t) => {
  const wanted = (resource: ResourceDistributionSpec["resource"]) =>
    parseDistribution(distribution({ resource, targets: { allNamespaces: true } }));
  const copy = seen({
    metadata: {
      name: "settings",
      namespace: "a",
      uid: "u",
      resourceVersion: "7",
      finalizers: ["b"],
      ownerReferences: [{ uid: "mine", controller: true }],
    },
    data: { x: "1", old: "1" },
    binaryData: { gone: "AA==" },
  });
  const place = { name: "a", namespace: { labels: {}, deleting: false }, copy };
  const same = { ...configMap({ x: "1", old: "1" }, { labels: { new: "1" } }), binaryData: { gone: "AA==" } };
  t.same(planNamespace(wanted(same), place), { target: true });
  const { write } = planNamespace(
    wanted(configMap({ x: "2" }, { labels: { new: "1" }, finalizers: ["a"] })),
    place,
  );
  t.match(write, {
    type: "update",
    body: {
      metadata: { uid: "u", resourceVersion: "7", labels: { new: "1" }, finalizers: ["a", "b"] },
      immutable: null,
      data: { x: "2", old: null },
      binaryData: { gone: null },
    },
  });
});

t.test(
  "a Secret that was written differently equals its stored form, and only its hash is held",
  async (t) => {
    const resource = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "settings" },
      stringData: { p: "geheim" },
    };
    const wanted = parseDistribution(distribution({ resource, targets: { allNamespaces: true } }));
    const copy = seen(
      {
        metadata: {
          name: "settings",
          namespace: "a",
          ownerReferences: [{ uid: "mine", controller: true }],
          annotations: { applied: "geheim" },
        },
        type: "Opaque",
        data: { p: "Z2VoZWlt" },
      },
      "Secret",
    );
    t.same(planNamespace(wanted, { name: "a", namespace: { labels: {}, deleting: false }, copy }), {
      target: true,
    });
    t.notMatch(JSON.stringify(copy), /geheim|Z2VoZWlt/);
  },
);

t.test("what was stored around admission fails in each target, by name and reason", async (t) => {
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "settings" } };
  const wanted = parseDistribution(distribution({ resource: service, targets: { allNamespaces: true } }));
  const plan = planNamespace(wanted, {
    name: "a",
    namespace: { labels: {}, deleting: false },
    copy: undefined,
  });
  t.match(plan, { target: true, failure: { type: "CreateResourceFailed", reason: /only support/ } });
});

t.test("the status: six conditions, zeros left out, times kept", async (t) => {
  const failures = new Map([
    [
      "ConflictOccurred" as const,
      new Map([
        ["b", "second"],
        ["a", "first"],
      ]),
    ],
  ]);
  const first = planStatus({ desired: 3, failed: 2, failures }, undefined, 4, 0);
  t.match(first, { desired: 3, succeeded: 1, failed: 2, observedGeneration: 4 });
  t.equal(first.conditions?.length, 6);
  t.same(first.conditions?.[4], {
    type: "ConflictOccurred",
    status: "True",
    reason: "second",
    failedNamespaces: ["a", "b"],
    lastTransitionTime: "1970-01-01T00:00:00Z",
  });
  // Two conditions alone: somebody has edited it.
  const edited = { conditions: first.conditions?.slice(4) ?? [] };
  const second = planStatus({ desired: 0, failed: 0, failures: new Map() }, edited, 5, 60_000);
  t.same(Object.keys(second), ["observedGeneration", "conditions"]);
  t.same(
    second.conditions?.map(({ status, reason, lastTransitionTime }) => [
      status,
      reason,
      lastTransitionTime?.slice(14),
    ]),
    [
      ["False", "Succeeded", "01:00Z"],
      ["False", "Succeeded", "01:00Z"],
      ["False", "Succeeded", "01:00Z"],
      ["False", "Succeeded", "01:00Z"],
      ["False", "Succeeded", "01:00Z"],
      ["False", "Succeeded", "00:00Z"],
    ],
  );
});
