/**
 * What ControllerRevisions hold, for every kind that has any: the reference's bytes, so that a swap starts no rollout,
 * and none of the zeros that mean nothing, so that a manifest may write them or not.
 *
 * testdata/revisions.jsonl.gz: random specs, and the first 8 bytes of the SHA-256 of the data that Go makes of each. The
 * types were those of k8s.io/api v0.32.13, and for the parts of this API structs of the fields and tags that its
 * published types have. Each spec went through sigs.k8s.io/json into the struct, from there through encoding/json into a
 * map, and out again with `$patch: replace`, as the reference writes it. Each field was absent, null, zero or a value.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import t from "tap";
import {
  cloneSet,
  type DecodedStored,
  daemonSet,
  isSameRevision,
  type KindDefinition,
  type Mistyped,
  type RevisedPart,
  sidecarSet,
  statefulSet,
  unitedDeployment,
  wireStruct,
} from "../crds/index.ts";
import {
  defaultPodTemplate,
  encodeTyped,
  isJsonObject,
  type JsonObject,
  revisionData,
} from "../kube/core/index.ts";
import type { ControllerRevision } from "../kube/index.ts";
import { plainRevision } from "../testkit/controller/projection_builder.ts";
import { TypedValues } from "../testkit/typed_values_builder.ts";
import { findRevision as findDaemonRevision } from "./kinds/daemon_set/revisions.ts";
import { findSidecarRevision } from "./kinds/sidecar_set/revisions.ts";
import { findUnitedRevision } from "./kinds/united_deployment/revision.ts";
import { kinds } from "./kinds.ts";
import { PlanMemory } from "./rollout/plan_memory.ts";
import { rolloutRevisions } from "./rollout/state.ts";

const revised = kinds.flatMap(({ resource, revisions }) =>
  revisions === undefined ? [] : [{ kind: resource.kind, part: revisions }],
);

interface Vector {
  readonly kind: string;
  readonly spec: JsonObject;
  readonly sha256: string;
}

const packed = readFileSync(new URL("./testdata/revisions.jsonl.gz", import.meta.url));
const lines = gunzipSync(packed).toString("utf8").trim().split("\n");
const vectors: readonly Vector[] = lines.map((line) => JSON.parse(line));

function valueAt(object: unknown, [name, ...rest]: readonly string[]): unknown {
  return name === undefined ? object : isJsonObject(object) ? valueAt(object[name], rest) : undefined;
}

function objectWith(value: unknown, path: readonly string[]): JsonObject {
  const [name = "", ...rest] = path;
  return { [name]: rest.length === 0 ? value : objectWith(value, rest) };
}

function sampleOf(part: RevisedPart, values: TypedValues): JsonObject {
  if (part.type !== "SubsetTemplate") return values.struct(part.type);
  // One member, as admission demands.
  for (;;) {
    const [member] = Object.entries(values.struct(part.type));
    if (member !== undefined) return Object.fromEntries([member]);
  }
}

const fixed = { seed: 23, numRuns: 1000 };
const valuesOf = (g: fc.GeneratorValue) => new TypedValues(wireStruct, (below) => g(fc.nat, below - 1));

for (const { kind, part } of revised) {
  t.test(`${kind}: data are the bytes that Go writes`, async (t) => {
    const own = vectors.filter((vector) => vector.kind === kind);
    t.ok(own.length >= 100, `${own.length} vectors`);
    for (const { spec, sha256 } of own) {
      const data = part.data(valueAt({ spec }, part.path));
      const hash = createHash("sha256").update(data).digest("hex");
      if (!hash.startsWith(sha256)) t.fail(data, { spec });
    }
  });

  t.test(`${kind}: zeros that mean nothing may come and go, other changes count`, async () => {
    fc.assert(
      fc.property(fc.gen(), (g) => {
        const values = valuesOf(g);
        const value = sampleOf(part, values);
        const data = part.data(value);
        const reworded = values.reworded(value, part.type);
        assert.equal(part.data(reworded), data);
        // As an earlier release, or another program, wrote them.
        assert.ok(isSameRevision(JSON.stringify(objectWith(reworded, part.path)), data, part));
        const changed = values.changed(reworded, part.type);
        if (changed === undefined) return;
        assert.notEqual(part.data(changed), data);
        assert.ok(!isSameRevision(JSON.stringify(objectWith(changed, part.path)), data, part));
      }),
      fixed,
    );
  });
}

type Search = (object: JsonObject, revisions: readonly ControllerRevision[]) => string;
const taken = () => undefined;

/** The object as it is read. */
function read<D extends KindDefinition>({
  readStored,
}: {
  readStored(value: unknown): DecodedStored<D> | Mistyped;
}) {
  return (object: JsonObject) => {
    const found = readStored(object);
    if (!("object" in found)) throw new Error(JSON.stringify(found.errors));
    return found.object;
  };
}

/** What a plan of each kind says of the revision: write none, or create one. */
const searches: Readonly<Record<string, Search>> = {
  CloneSet: (object, revisions) => {
    const { metadata, spec } = read(cloneSet)(object);
    if (spec === undefined) return "";
    return rolloutRevisions({ set: { metadata, spec }, revisions, revisionData: taken }, new PlanMemory())
      .write;
  },
  StatefulSet: (object, revisions) => {
    const { metadata, spec } = read(statefulSet)(object);
    if (spec === undefined) return "";
    return rolloutRevisions({ set: { metadata, spec }, revisions, revisionData: taken }, new PlanMemory())
      .write;
  },
  DaemonSet: (object, revisions) => {
    const { metadata, spec } = read(daemonSet)(object);
    return spec === undefined
      ? ""
      : findDaemonRevision({ metadata, spec }, revisions, taken, new PlanMemory()).write;
  },
  SidecarSet: (object, revisions) => {
    const { metadata, spec } = read(sidecarSet)(object);
    return spec === undefined
      ? ""
      : findSidecarRevision({ metadata, spec }, revisions, taken, new PlanMemory()).write;
  },
  UnitedDeployment: (object, revisions) => {
    const { metadata, spec } = read(unitedDeployment)(object);
    return spec === undefined ? "" : findUnitedRevision({ metadata, spec }, revisions, taken).write;
  },
};

/**
 * DaemonSets compare templates with all defaults written out, so that writing one out is no change, and without the
 * former name of the account, under which the API server repeats it.
 */
function isDefaultOf(kind: string, changed: JsonObject, value: JsonObject): boolean {
  if (kind !== "DaemonSet") return false;
  const [left, right] = [changed, value].map((template) => {
    const typed = encodeTyped(template, "PodTemplateSpec");
    const defaulted = defaultPodTemplate(typed, { imagePullPolicy: "ByTag", hostNetworkPorts: true });
    if (isJsonObject(defaulted.spec)) delete defaulted.spec["serviceAccount"];
    return revisionData(defaulted);
  });
  return left === right;
}

t.test("every kind with revisions has its search here", async (t) => {
  t.strictSame(revised.map(({ kind }) => kind).sort(), Object.keys(searches).sort());
});

for (const { kind, part } of revised) {
  t.test(`${kind}: a plan makes a revision for a change, not for a zero`, async () => {
    const search = searches[kind] ?? (() => "");
    const object = (value: unknown): JsonObject => ({
      apiVersion: "apps.kruise.io/v1beta1",
      kind,
      metadata: { name: "a", namespace: "d", uid: "u" },
      ...objectWith(value, part.path),
    });
    fc.assert(
      fc.property(fc.gen(), (g) => {
        const values = valuesOf(g);
        const value = sampleOf(part, values);
        const stored = [plainRevision("d", "a-1", { data: part.data(value) })];
        const reworded = values.reworded(value, part.type);
        assert.equal(search(object(reworded), stored), "none");
        const earlier = [
          plainRevision("d", "a-1", { data: JSON.stringify(objectWith(reworded, part.path)) }),
        ];
        assert.equal(search(object(value), earlier), "none");
        const changed = values.changed(value, part.type);
        if (changed !== undefined && !isDefaultOf(kind, changed, value))
          assert.equal(search(object(changed), stored), "create");
      }),
      fixed,
    );
  });
}

t.test("UnitedDeployment: a manifest that spells zeros out is at the revision that Go wrote", async (t) => {
  const zeros = {
    minReadySeconds: 0,
    scaleStrategy: { podsToDelete: [], enablePVCReuse: false },
    updateStrategy: {
      rollingUpdate: { inPlaceUpdateStrategy: { gracePeriodSeconds: 0 }, scatterStrategy: [], partition: 0 },
    },
    volumeClaimTemplates: [],
    lifecycle: { preDelete: { finalizersHandler: [], labelsHandler: {} } },
  };
  const selector = { matchLabels: { app: "a" } };
  const template = {
    metadata: { labels: { app: "a" } },
    spec: { containers: [{ name: "c", image: "i:1" }] },
  };
  const spec = {
    selector,
    template: { cloneSetTemplate: { metadata: {}, spec: { ...zeros, selector, template } } },
  };
  const data =
    '{"spec":{"template":{"$patch":"replace","cloneSetTemplate":{"metadata":{"creationTimestamp":null},"spec":{' +
    '"lifecycle":{"preDelete":{}},"scaleStrategy":{},"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":' +
    '{"creationTimestamp":null,"labels":{"app":"a"}},"spec":{"containers":[{"image":"i:1","name":"c","resources":{}}]}},' +
    '"updateStrategy":{"rollingUpdate":{"inPlaceUpdateStrategy":{},"partition":0}}}}}}}';
  const found = findUnitedRevision(
    { metadata: { name: "a" }, spec },
    [plainRevision("d", "a-1", { data })],
    taken,
  );
  t.match(found, { write: "none", update: { name: "a-1", data } });
});

t.test("DaemonSet: defaults are added to what the types make of a template", async (t) => {
  const template = (claim: object) => ({
    metadata: {},
    spec: {
      containers: [{ name: "c", image: "i:1" }],
      volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: claim } }],
    },
  });
  const data = JSON.stringify({ spec: { template: template({}) } });
  const set = { metadata: { name: "a" }, spec: { selector: {}, template: template({ spec: {} }) } };
  const found = findDaemonRevision(set, [plainRevision("d", "a-1", { data })], taken, new PlanMemory());
  t.equal(found.write, "none");
});
