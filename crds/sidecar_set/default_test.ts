/** Defaults of SidecarSets, and their two versions. Spec: sidecarset 1, 2, 6. */
import fc from "fast-check";
import t from "tap";
import { isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { convertSidecarSet } from "./convert.ts";
import { defaultSidecarSet, newestSidecarsHash } from "./default.ts";
import { sidecarSetHashes } from "./hash.ts";
import { customVersionLabel, namespaceNameLabel } from "./names.ts";

type Version = "v1alpha1" | "v1beta1";
const both = ["v1alpha1", "v1beta1"] as const;

function raw(version: Version, spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "SidecarSet",
    metadata: { name: "mesh", ...metadata },
    spec,
  };
}

for (const version of both) {
  t.test(`${version}: fields of a SidecarSet`, (t) => {
    const { spec, metadata } = Object(
      defaultSidecarSet(
        raw(version, {
          containers: [{ name: "a", image: "a:1" }],
          initContainers: [{ name: "i", image: "i" }],
          patchPodMetadata: [{ annotations: { a: "1" } }],
          injectionStrategy: { revision: { revisionName: "r" } },
          volumes: [{ name: "v" }],
        }),
      ),
    );
    const container = {
      imagePullPolicy: "IfNotPresent",
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      upgradeStrategy: { upgradeType: "ColdUpgrade" },
      shareVolumePolicy: { type: "disabled" },
    };
    t.strictSame(spec, {
      containers: [{ name: "a", image: "a:1", podInjectPolicy: "BeforeAppContainer", ...container }],
      initContainers: [
        {
          name: "i",
          image: "i",
          podInjectPolicy: "AfterAppContainer",
          ...container,
          imagePullPolicy: "Always",
        },
      ],
      patchPodMetadata: [{ annotations: { a: "1" }, patchPolicy: "Retain" }],
      injectionStrategy: { revision: { revisionName: "r", policy: "Always" } },
      volumes: [{ name: "v", emptyDir: {} }],
      updateStrategy: { type: "RollingUpdate", partition: 0, maxUnavailable: 1 },
      revisionHistoryLimit: 10,
    });
    const { hash, hashWithoutImage } = sidecarSetHashes(spec);
    t.strictSame(metadata.annotations, {
      "kruise.io/sidecarset-hash": hash,
      "kruise.io/sidecarset-hash-without-image": hashWithoutImage,
    });
    t.end();
  });

  t.test(`${version}: parts of a container`, (t) => {
    const [container] = Object(
      defaultSidecarSet(
        raw(version, {
          containers: [
            {
              name: "a",
              image: "a:latest",
              ports: [{ containerPort: 80 }],
              env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
              transferEnv: [
                { sourceContainerNameFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } },
                { sourceContainerNameFrom: {} },
              ],
              livenessProbe: { httpGet: { port: 80 } },
              startupProbe: { httpGet: { port: 80 } },
              readinessProbe: { grpc: { port: 80 } },
            },
          ],
        }),
      ),
    ).spec.containers;
    const numbers = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    t.match(container, {
      imagePullPolicy: "Always",
      ports: [{ containerPort: 80, protocol: "TCP" }],
      env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } } }],
      transferEnv: [{ sourceContainerNameFrom: { fieldRef: { apiVersion: "v1" } } }, {}],
    });
    t.strictSame(container.livenessProbe, { httpGet: { port: 80, path: "/", scheme: "HTTP" }, ...numbers });
    t.strictSame(container.startupProbe, { httpGet: { port: 80 } }, "a startup probe stays as written");
    t.strictSame(container.readinessProbe, { grpc: { port: 80 }, ...numbers }, "so does a gRPC service");
    t.end();
  });
}

t.test("hashes that a client sent are replaced", (t) => {
  const forged = raw("v1beta1", {}, { annotations: { "kruise.io/sidecarset-hash": "x", other: "y" } });
  const { annotations } = Object(defaultSidecarSet(forged)).metadata;
  t.equal(annotations["kruise.io/sidecarset-hash"], sidecarSetHashes({}).hash);
  t.equal(annotations["other"], "y");
  t.end();
});

t.test("a set that no webhook saw has the hash that admission would write", (t) => {
  for (const version of both) {
    const stored = raw(version, { containers: [{ name: "a", image: "a:1" }] });
    const admitted = defaultSidecarSet(stored);
    const { annotations } = Object(admitted).metadata;
    t.equal(newestSidecarsHash(stored), annotations["kruise.io/sidecarset-hash"], version);
    t.equal(newestSidecarsHash(admitted), annotations["kruise.io/sidecarset-hash"], version);
  }
  for (const spec of [undefined, null, 7, { containers: "a" }, { containers: [{ name: 7 }] }])
    t.type(newestSidecarsHash({ metadata: { name: "mesh" }, spec }), "string", JSON.stringify(spec));
  t.end();
});

const text = fc.constantFrom("", "a", "b");
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const container = fc.record({
  name: text,
  image: some(fc.constantFrom("a", "a:1", "a:latest")),
  restartPolicy: some(fc.constant("Always")),
  env: some(fc.constant([{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }])),
  livenessProbe: some(fc.constantFrom({}, { httpGet: { port: 1 } }, { grpc: { port: 1 } })),
  resources: some(fc.constantFrom({}, { limits: { cpu: "1.0001m" } })),
  podInjectPolicy: some(fc.constantFrom("", "AfterAppContainer")),
  upgradeStrategy: some(fc.constantFrom(null, {}, { upgradeType: "HotUpgrade" })),
  shareVolumePolicy: some(fc.constantFrom({}, { type: "enabled" })),
});
const selector = fc.constantFrom({ matchLabels: { a: "b" } }, { matchExpressions: [] });
const spec = fc.record({
  containers: some(fc.array(container, { maxLength: 3 })),
  initContainers: some(fc.array(container, { maxLength: 2 })),
  volumes: some(fc.constantFrom([], [{ name: "v" }], [{ name: "v", hostPath: { path: "/" } }])),
  selector: some(selector),
  namespaceSelector: some(selector),
  updateStrategy: some(fc.constantFrom(null, {}, { type: "NotUpdate" }, { partition: "10%" })),
  injectionStrategy: some(fc.constantFrom({}, { paused: true }, { revision: {} })),
  patchPodMetadata: some(fc.constantFrom([], [{ annotations: { a: "1" } }, { patchPolicy: "Overwrite" }])),
});

/** Without undefined members, as JSON has it. */
function plain(value: object): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(value));
  return isJsonObject(copy) ? copy : {};
}

t.test("defaults are there once", (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...both), spec, (version, given) => {
      const once = defaultSidecarSet(raw(version, plain(given)));
      return JSON.stringify(defaultSidecarSet(once)) === JSON.stringify(once);
    }),
    { numRuns: 2000, seed: 6 },
  );
  t.end();
});

t.test("an object of v1alpha1 keeps everything in v1beta1 but the namespace's field", (t) => {
  fc.assert(
    fc.property(spec, text, text, (given, namespace, version) => {
      const labels = { app: "x", ...(version === "" ? {} : { [customVersionLabel]: version }) };
      const before = raw("v1alpha1", plain({ ...given, ...(namespace && { namespace }) }), { labels });
      const stored = convertSidecarSet(before, "v1beta1");
      const after = convertSidecarSet(stored, "v1alpha1");
      const named = { namespaceSelector: { matchLabels: { [namespaceNameLabel]: namespace } } };
      const { namespace: _, ...rest } = Object(before["spec"]);
      t.strictSame(Object(stored["metadata"]).labels, { app: "x" });
      t.equal(Object(stored["spec"]).customVersion ?? "", version);
      t.strictSame(after, { ...before, spec: { ...rest, ...(namespace && named) } });
    }),
    { numRuns: 300, seed: 1 },
  );
  t.end();
});
