import fc from "fast-check";
import t from "tap";
import type { RevisedSpec, SidecarContainer } from "../../../../crds/index.ts";
import { cloneJson, type JsonObject, jsonEqual } from "../../../../kube/core/index.ts";
import { frozen } from "../../../../testkit/controller/frozen_builder.ts";
import { objectAt, objectsAt } from "../../../native/json_fields.ts";
import { injectSidecars } from "./inject.ts";
import { type MetadataPatch, prepareSidecars, type Sidecars } from "./sidecars.ts";

const now = Date.parse("2026-01-02T03:04:05Z");

/** What pods share of it must not be written to, so that it throws. */
function sidecarsOf(name: string, spec: RevisedSpec = {}, revision?: string): Sidecars {
  const annotations = {
    "kruise.io/sidecarset-hash": `hash-of-${name}`,
    "kruise.io/sidecarset-hash-without-image": `hash-of-${name}-without-image`,
  };
  return prepareSidecars(name, frozen(spec), annotations, revision);
}

function sidecar(name: string, given: Partial<SidecarContainer> = {}): SidecarContainer {
  return { name, image: `${name}:1`, ...given };
}

function podOf(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: "web", ...metadata },
    spec: { containers: [{ name: "app", image: "app:1" }], ...spec },
  };
}

function injected(pod: JsonObject, sets: readonly Sidecars[], sortByName = false) {
  const copy = cloneJson(pod);
  injectSidecars(copy, sets, { sortByName, now });
  return { metadata: objectAt(copy, "metadata"), spec: objectAt(copy, "spec") };
}

const names = (spec: JsonObject, list: string) => objectsAt(spec, list).map(({ name }) => name);

function containerOf(spec: JsonObject, name: string, list = "containers"): JsonObject {
  return objectsAt(spec, list).find((one) => one["name"] === name) ?? {};
}

function refusal(run: () => unknown): string {
  try {
    run();
    return "";
  } catch (error) {
    return String(error);
  }
}

t.test("containers go where their policy says, equal names are replaced where they stand", async (t) => {
  const sets = [
    sidecarsOf("one", {
      containers: [
        sidecar("a", { podInjectPolicy: "AfterAppContainer" }),
        sidecar("c", { podInjectPolicy: "BeforeAppContainer" }),
        sidecar("b"),
      ],
    }),
    sidecarsOf("two", { containers: [sidecar("log"), sidecar("a0")] }),
  ];
  const pod = podOf({ containers: [{ name: "app" }, { name: "log", image: "mine" }] });
  t.strictSame(names(injected(pod, sets).spec, "containers"), ["c", "b", "a0", "app", "log", "a"]);
  t.equal(containerOf(injected(pod, sets).spec, "log")["image"], "log:1");
  t.strictSame(names(injected(pod, sets, true).spec, "containers"), ["a0", "b", "c", "app", "log", "a"]);
});

t.test("init containers are sorted by name first", async (t) => {
  const initContainers = [
    sidecar("a", { podInjectPolicy: "AfterAppContainer" }),
    sidecar("c", { podInjectPolicy: "BeforeAppContainer" }),
    sidecar("b", { podInjectPolicy: "BeforeAppContainer" }),
  ];
  const pod = podOf({ initContainers: [{ name: "app1" }, { name: "app2" }] });
  const { spec } = injected(pod, [sidecarsOf("one", { initContainers })]);
  t.strictSame(names(spec, "initContainers"), ["b", "c", "app1", "app2", "a"]);
});

t.test("volumes that sidecars mount and the pod lacks; pull secrets once", async (t) => {
  const set = sidecarsOf("one", {
    containers: [
      sidecar("a", {
        volumeMounts: [
          { name: "log", mountPath: "/log" },
          { name: "unknown", mountPath: "/x" },
          { name: "data", mountPath: "/data" },
        ],
        volumeDevices: [{ name: "disk", devicePath: "/dev/x" }],
      }),
    ],
    volumes: [
      { name: "unused", emptyDir: {} },
      { name: "data", emptyDir: {} },
      { name: "disk", persistentVolumeClaim: { claimName: "d" } },
      { name: "log", emptyDir: {} },
    ],
    imagePullSecrets: [{ name: "s" }, { name: "own" }, { name: "s" }],
  });
  const pod = podOf({ volumes: [{ name: "data", hostPath: {} }], imagePullSecrets: [{ name: "own" }] });
  const { spec } = injected(pod, [set]);
  t.strictSame(names(spec, "volumes"), ["data", "log", "disk"]);
  t.strictSame(objectsAt(spec, "volumes")[0], { name: "data", hostPath: {} });
  t.strictSame(spec["imagePullSecrets"], [{ name: "own" }, { name: "s" }]);
});

const main = {
  name: "main",
  env: [
    { name: "POD_NAME", value: "bar" },
    { name: "OD_NAME", value: "od" },
    { name: "PROXY_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  ],
  volumeMounts: [
    { name: "main", mountPath: "/main-volume", subPathExpr: "foo/$(POD_NAME)/$(OD_NAME)/$$(PROXY_IP)/conf" },
    { name: "log", mountPath: "/log" },
  ],
  volumeDevices: [{ name: "disk", devicePath: "/dev/main" }],
};

t.test("environment is copied from the container that is named, or found in metadata", async (t) => {
  const fieldRef = { fieldPath: "metadata.labels['biz']" };
  const transferEnv = [
    { sourceContainerName: "main", envName: "OD_NAME", envNames: ["PROXY_IP", "ABSENT"] },
    { sourceContainerNameFrom: { fieldRef }, envNames: ["POD_NAME"] },
    { sourceContainerName: "nobody", envName: "POD_NAME" },
  ];
  const set = sidecarsOf("one", {
    containers: [sidecar("a", { env: [{ name: "OD_NAME", value: "sidecar_name" }], transferEnv })],
  });
  const { spec } = injected(podOf({ containers: [main] }, { labels: { biz: "main" } }), [set]);
  t.strictSame(containerOf(spec, "a"), {
    name: "a",
    image: "a:1",
    env: [
      { name: "OD_NAME", value: "sidecar_name" },
      { name: "IS_INJECTED", value: "true" },
      { name: "PROXY_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "POD_NAME", value: "bar" },
    ],
  });
});

t.test("the annotation that names the container may come from a set", async (t) => {
  const fieldRef = { fieldPath: "metadata.annotations['biz']" };
  const transferEnv = [{ sourceContainerNameFrom: { fieldRef }, envName: "POD_NAME" }];
  const set = sidecarsOf("one", {
    containers: [sidecar("a", { transferEnv })],
    patchPodMetadata: [{ annotations: { biz: "main" } }],
  });
  const { spec } = injected(podOf({ containers: [main] }), [set]);
  t.strictSame(names(containerOf(spec, "a"), "env"), ["IS_INJECTED", "POD_NAME"]);
});

t.test("mounts and devices of the pod's own containers are shared, with what their paths need", async (t) => {
  const set = sidecarsOf("one", {
    containers: [
      sidecar("a", {
        shareVolumePolicy: { type: "enabled" },
        shareVolumeDevicePolicy: { type: "enabled" },
        volumeMounts: [{ name: "mine", mountPath: "/log" }],
      }),
      sidecar("b", { shareVolumePolicy: { type: "disabled" } }),
    ],
  });
  const other = {
    name: "other",
    env: [{ name: "IS_INJECTED", value: "true" }],
    volumeMounts: [{ name: "x", mountPath: "/x" }],
  };
  const { spec } = injected(podOf({ containers: [main, other] }), [set]);
  const a = containerOf(spec, "a");
  t.strictSame(names(a, "volumeMounts"), ["mine", "main"]);
  t.strictSame(names(a, "volumeDevices"), ["disk"]);
  t.strictSame(
    names(a, "env"),
    ["IS_INJECTED", "POD_NAME", "OD_NAME", "PROXY_IP"],
    "also what an escaped reference names: the reference copies it, and it does no harm",
  );
  t.strictSame(containerOf(spec, "b"), {
    name: "b",
    image: "b:1",
    env: [{ name: "IS_INJECTED", value: "true" }],
  });
});

t.test("a hot upgrade begins with two containers, of which the first serves", async (t) => {
  const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" };
  const set = sidecarsOf("one", {
    containers: [sidecar("mesh", { upgradeStrategy, env: [{ name: "A", value: "1" }] })],
  });
  const { metadata, spec } = injected(podOf(), [set]);
  t.strictSame(names(spec, "containers"), ["mesh-1", "mesh-2", "app"]);
  const variable = (name: string, annotation: string) => ({
    name,
    valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` } },
  });
  t.strictSame(containerOf(spec, "mesh-2"), {
    name: "mesh-2",
    image: "empty:1",
    env: [
      { name: "A", value: "1" },
      { name: "IS_INJECTED", value: "true" },
      variable("SIDECARSET_VERSION", "version.sidecarset.kruise.io/mesh-2"),
      variable("SIDECARSET_VERSION_ALT", "versionalt.sidecarset.kruise.io/mesh-2"),
    ],
  });
  t.equal(containerOf(spec, "mesh-1")["image"], "mesh:1");
  t.match(metadata["annotations"], {
    "kruise.io/sidecarset-working-hotupgrade-container": '{"mesh":"mesh-1"}',
    "version.sidecarset.kruise.io/mesh-1": "1",
    "versionalt.sidecarset.kruise.io/mesh-1": "0",
    "version.sidecarset.kruise.io/mesh-2": "0",
    "versionalt.sidecarset.kruise.io/mesh-2": "1",
  });
});

t.test("of init containers a hot upgrade makes two only of one that runs as long as the pod", async (t) => {
  const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" };
  const initContainers = [
    sidecar("plain", { upgradeStrategy }),
    sidecar("native", { upgradeStrategy, restartPolicy: "Always" }),
  ];
  const { metadata, spec } = injected(podOf(), [sidecarsOf("one", { initContainers })]);
  t.strictSame(names(spec, "initContainers"), ["native-1", "native-2", "plain"]);
  t.strictSame(containerOf(spec, "plain", "initContainers"), {
    name: "plain",
    image: "plain:1",
    env: [{ name: "IS_INJECTED", value: "true" }],
  });
  const annotations = objectAt(metadata, "annotations");
  t.equal(annotations["kruise.io/sidecarset-working-hotupgrade-container"], '{"native":"native-1"}');
  t.notOk(Object.keys(annotations).some((key) => key.endsWith("/plain-1") || key.endsWith("/plain-2")));
});

t.test(
  "sets without any container leave neither record nor pull secrets, only their annotations",
  async (t) => {
    const set = sidecarsOf("one", {
      imagePullSecrets: [{ name: "s" }],
      patchPodMetadata: [{ annotations: { added: "1" } }],
    });
    const { metadata, spec } = injected(podOf(), [set]);
    t.strictSame(metadata["annotations"], { added: "1" });
    t.strictSame(spec, podOf()["spec"]);
  },
);

t.test(
  "an app container with the name of one of the two is replaced, as one with a sidecar's name is",
  async (t) => {
    const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" };
    const set = sidecarsOf("one", { containers: [sidecar("mesh", { upgradeStrategy })] });
    const pod = podOf({ containers: [{ name: "app" }, { name: "mesh-2", image: "mine" }] });
    const { spec } = injected(pod, [set]);
    t.strictSame(names(spec, "containers"), ["mesh-1", "app", "mesh-2"]);
    t.equal(containerOf(spec, "mesh-2")["image"], "empty:1");
  },
);

t.test("what was injected is recorded in the pod, beside what is recorded there", async (t) => {
  const sets = [
    sidecarsOf(
      "b",
      {
        containers: [sidecar("z"), sidecar("y")],
        initContainers: [sidecar("plain"), sidecar("native", { restartPolicy: "Always" })],
      },
      "b-5",
    ),
    sidecarsOf("a"),
  ];
  const present = { "kruise.io/sidecarset-hash": '{"old":"h"}', "kruise.io/sidecarset-injected-list": "old" };
  const annotations = objectAt(injected(podOf({}, { annotations: present }), sets).metadata, "annotations");
  const entry = (name: string, list: string, hash: string, more = "") =>
    `"${name}":{"updateTimestamp":"2026-01-02T03:04:05Z","hash":"${hash}","sidecarSetName":"${name}","sidecarList":${list}${more}}`;
  t.equal(
    annotations["kruise.io/sidecarset-hash"],
    `{${entry("a", "[]", "hash-of-a")},${entry("b", '["native","y","z"]', "hash-of-b", ',"controllerRevision":"b-5"')},` +
      '"old":{"updateTimestamp":"","hash":"h","sidecarSetName":"old","sidecarList":null}}',
  );
  t.equal(
    annotations["kruise.io/sidecarset-hash-without-image"],
    `{${entry("a", "[]", "hash-of-a-without-image")},${entry("b", '["native","y","z"]', "hash-of-b-without-image")}}`,
  );
  t.equal(annotations["kruise.io/sidecarset-injected-list"], "a,b,old");
  const broken = podOf({}, { annotations: { "kruise.io/sidecarset-hash": "{" } });
  t.match(
    refusal(() => injected(broken, sets)),
    /annotation kruise.io\/sidecarset-hash of the pod is not a JSON object \(SidecarSet b, a\)/,
  );
});

t.test("annotations are kept, set or merged, by their policy", async (t) => {
  const patches: MetadataPatch[] = [
    { annotations: { kept: "new", added: "1" } },
    { annotations: { set: "new" }, patchPolicy: "Overwrite" },
    { annotations: { merged: '{"log-agent":1,"gone":null}', fresh: "{" }, patchPolicy: "MergePatchJson" },
  ];
  const set = sidecarsOf("one", { patchPodMetadata: patches });
  const annotations = { kept: "old", set: "old", merged: '{"main":2,"gone":1}' };
  t.match(injected(podOf({}, { annotations }), [set]).metadata["annotations"], {
    kept: "old",
    added: "1",
    set: "new",
    merged: '{"log-agent":1,"main":2}',
    fresh: "{",
  });
  t.match(
    refusal(() => injected(podOf({}, { annotations: { merged: "{" } }), [set])),
    /annotation merged cannot be merged as JSON: the pod's value is not JSON \(SidecarSet one\)/,
  );
});

t.test("what is merged beside them leaves the pod's values as they are written", async (t) => {
  const patches = [{ annotations: { merged: '{"b":{"more":"1.0"}}' }, patchPolicy: "MergePatchJson" }];
  const set = sidecarsOf("one", { patchPodMetadata: patches });
  const merged = (text: string) =>
    injected(podOf({}, { annotations: { merged: text } }), [set]).metadata["annotations"];
  const own = String.raw`{"a":9007199254740993,"b":{"is":[1.0,-2E+3,"3","n4","\"5"]},"n":"6","sure":true}`;
  const expected = String.raw`{"a":9007199254740993,"b":{"is":[1.0,-2E+3,"3","n4","\"5"],"more":"1.0"},"n":"6","sure":true}`;
  t.match(merged(own), { merged: expected });
  for (const text of ["01", "1.", "{'a':1}"]) t.throws(() => merged(text), /is not JSON/, text);
});

t.test("resources follow those of the pod's own containers", async (t) => {
  const resourcesPolicy = {
    targetContainersMode: "sum" as const,
    targetContainersNameRegex: "^(a|b|mesh)",
    resourcesExpr: {
      limits: { cpu: "cpu*50% + 100m", memory: "max(memory*20% + 100Mi, 200Mi)" },
      requests: { cpu: "cpu", memory: "50Mi" },
    },
  };
  const set = sidecarsOf("one", {
    containers: [sidecar("mesh", { resourcesPolicy, resources: { limits: { cpu: "9" } } })],
  });
  const a = { name: "a", resources: { limits: { cpu: "200m", memory: "400Mi" }, requests: { cpu: "100m" } } };
  const b = { name: "b", restartPolicy: "Always", resources: { limits: { cpu: "400m", memory: "600Mi" } } };
  const of = (spec: JsonObject) => containerOf(injected(podOf(spec), [set]).spec, "mesh")["resources"];
  t.strictSame(of({ containers: [a, { name: "mesh", resources: {} }], initContainers: [b] }), {
    limits: { cpu: "400m", memory: "300Mi" },
    requests: { cpu: "100m", memory: "50Mi" },
  });
  t.strictSame(
    of({ containers: [a, { name: "a2", resources: { limits: { memory: "600Mi" } } }] }),
    { limits: { memory: "300Mi" }, requests: { cpu: "100m", memory: "50Mi" } },
    "one without a limit has no limit",
  );
  t.strictSame(of({ containers: [{ name: "a" }] }), { requests: { cpu: "0", memory: "50Mi" } });
  t.match(
    refusal(() => of({ containers: [{ name: "x" }] })),
    'no containers match the regex pattern "^(a|b|mesh)" (container mesh) (SidecarSet one)',
  );
});

const word = fc.constantFrom("a", "b", "c", "log", "mesh");
const volumeMounts = fc.uniqueArray(
  fc.record({ name: fc.constantFrom("v1", "v2", "v3"), mountPath: fc.constantFrom("/a", "/b", "/c") }),
  { selector: ({ mountPath }) => mountPath, maxLength: 3 },
);
const env = fc.uniqueArray(fc.record({ name: fc.constantFrom("A", "B", "C"), value: word }), {
  selector: ({ name }) => name,
  maxLength: 3,
});
const ofPod = fc.record({ name: word, image: fc.constant("app:1"), env, volumeMounts });
const anySidecar = fc.record(
  {
    name: word,
    image: fc.constant("sidecar:1"),
    env,
    volumeMounts,
    podInjectPolicy: fc.constantFrom("BeforeAppContainer", "AfterAppContainer"),
    shareVolumePolicy: fc.constantFrom({ type: "enabled" }, { type: "disabled" }),
    transferEnv: fc.array(fc.record({ sourceContainerName: word, envName: fc.constantFrom("A", "B") }), {
      maxLength: 2,
    }),
    upgradeStrategy: fc.constantFrom(
      { upgradeType: "ColdUpgrade" },
      { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty" },
    ),
  },
  { requiredKeys: ["name", "image"] },
);
const anyInitSidecar = fc
  .tuple(anySidecar, fc.constantFrom(undefined, "Always"))
  .map(([sidecar, restartPolicy]) => (restartPolicy === undefined ? sidecar : { ...sidecar, restartPolicy }));
const volumes = fc.uniqueArray(
  fc.record({ name: fc.constantFrom("v1", "v2", "v3"), emptyDir: fc.constant({}) }),
  { selector: ({ name }) => name, maxLength: 3 },
);
interface AnySet {
  readonly name: string;
  readonly containers: readonly SidecarContainer[];
  readonly initContainers: readonly SidecarContainer[];
  readonly volumes: { name: string; emptyDir: object }[];
}
/** Names are each set's own, as admission sees to; a container of the pod may have one of them. */
const anySetSpecs: fc.Arbitrary<AnySet[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom("s1", "s2", "s3"),
      containers: fc.uniqueArray(anySidecar, { selector: ({ name }) => name, maxLength: 3 }),
      initContainers: fc.uniqueArray(anyInitSidecar, { selector: ({ name }) => name, maxLength: 2 }),
      volumes,
    }),
    { selector: ({ name }) => name, maxLength: 3 },
  )
  .map((sets) =>
    sets.map(({ name, containers, initContainers, ...rest }) => {
      const own = (one: SidecarContainer) => ({ ...one, name: `${name}-${one.name}` });
      const init = (one: SidecarContainer) => ({ ...one, name: `${name}-init-${one.name}` });
      return { name, ...rest, containers: containers.map(own), initContainers: initContainers.map(init) };
    }),
  );
const sidecarsOfAll = (sets: readonly AnySet[]) =>
  sets.map(({ name, containers, initContainers, volumes }) =>
    sidecarsOf(name, { containers: [...containers], initContainers: [...initContainers], volumes }),
  );
const anySets = anySetSpecs.map(sidecarsOfAll);
function podWith(taken: fc.Arbitrary<boolean>) {
  return fc
    .record({
      containers: fc.uniqueArray(ofPod, { selector: ({ name }) => name, minLength: 1, maxLength: 3 }),
      initContainers: fc.uniqueArray(ofPod, { selector: ({ name }) => name, maxLength: 2 }),
      volumes,
      taken,
    })
    .map(({ taken, containers, ...spec }) => {
      const [first, ...others] = containers;
      return podOf({ ...spec, containers: taken ? [{ ...first, name: "s1-a" }, ...others] : containers });
    });
}

t.test("nothing of the pod is lost or altered but what a sidecar of its name replaces", async (t) => {
  const property = fc.property(podWith(fc.boolean()), anySets, fc.boolean(), (pod, sets, sortByName) => {
    const { spec } = injected(pod, sets, sortByName);
    const before = objectAt(pod, "spec");
    for (const list of ["containers", "initContainers"] as const) {
      const replacing = new Set(
        sets.flatMap((set) => set[list].flatMap(({ containers }) => containers.map(({ name }) => name))),
      );
      const own = objectsAt(before, list);
      const kept = objectsAt(spec, list).filter(({ name }) => own.some((one) => one["name"] === name));
      const intact = own.every((one, at) => replacing.has(String(one["name"])) || jsonEqual(one, kept[at]));
      if (!intact || kept.length !== own.length) return false;
    }
    const present = objectsAt(before, "volumes");
    return present.every((volume, at) => jsonEqual(volume, objectsAt(spec, "volumes")[at]));
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 7, numRuns: 2000 }));
});

t.test("a second time changes nothing", async (t) => {
  // A sidecar shares the mounts of a container that it replaces, which is gone the second time.
  const property = fc.property(podWith(fc.constant(false)), anySets, (pod, sets) => {
    const once = injected(pod, sets);
    const again = injected({ ...once }, sets);
    return jsonEqual(once, again);
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 8, numRuns: 1000 }));
});

t.test("containers and their lists of variables are each pod's own: later steps write to both", async (t) => {
  const property = fc.property(podWith(fc.boolean()), anySets, (pod, sets) => {
    const seen = new Set<unknown>();
    return [injected(pod, sets), injected(pod, sets)].every(({ spec }) =>
      [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")]
        .flatMap((container) => [container, container["env"]])
        .every((part) => !Object.isFrozen(part) && !seen.has(part) && seen.add(part)),
    );
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 9, numRuns: 500 }));
});

/** Rules 3 to 5, 24 and 40 alone: names of a list of the pod, and what stands at each of them. */
function expectedNames(
  own: readonly unknown[],
  sets: readonly AnySet[],
  list: "containers" | "initContainers",
  sortByName: boolean,
): string[] {
  const made: { name: string; before: boolean }[] = [];
  for (const set of sets)
    for (const { name, podInjectPolicy, upgradeStrategy, restartPolicy } of set[list]) {
      const before =
        podInjectPolicy === undefined ? list === "containers" : podInjectPolicy === "BeforeAppContainer";
      const isRunning = list === "containers" || restartPolicy === "Always";
      if (upgradeStrategy?.upgradeType === "HotUpgrade" && isRunning)
        made.push({ name: `${name}-1`, before }, { name: `${name}-2`, before });
      else made.push({ name, before });
    }
  if (sortByName || list === "initContainers") made.sort((a, b) => (a.name < b.name ? -1 : 1));
  const added = made.filter(({ name }) => !own.includes(name));
  return [
    ...added.filter(({ before }) => before).map(({ name }) => name),
    ...own.map(String),
    ...added.filter(({ before }) => !before).map(({ name }) => name),
  ];
}

t.test("the containers of a pod are exactly those that the rules say, in their order", async (t) => {
  const seen = { pairs: 0, hotPlainInits: 0, replaced: 0 };
  const property = fc.property(podWith(fc.boolean()), anySetSpecs, fc.boolean(), (pod, sets, sortByName) => {
    const { metadata, spec } = injected(pod, sidecarsOfAll(sets), sortByName);
    const before = objectAt(pod, "spec");
    const isRight = (["containers", "initContainers"] as const).every((list) => {
      const own = names(before, list);
      return jsonEqual(names(spec, list), expectedNames(own, sets, list, sortByName));
    });
    // A pair, and nothing else, has versions and a container that works.
    const all = [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")];
    const annotations = objectAt(metadata, "annotations");
    const versioned = all.filter((one) => names(one, "env").includes("SIDECARSET_VERSION"));
    const working = JSON.parse(
      String(annotations["kruise.io/sidecarset-working-hotupgrade-container"] ?? "{}"),
    );
    const versions = Object.keys(annotations).filter((key) =>
      key.startsWith("version.sidecarset.kruise.io/"),
    );
    for (const { containers, initContainers } of sets) {
      const isHot = (one: SidecarContainer) => one.upgradeStrategy?.upgradeType === "HotUpgrade";
      seen.pairs += containers.filter(isHot).length;
      seen.hotPlainInits += initContainers.filter((one) => isHot(one) && !one.restartPolicy).length;
      seen.replaced += containers.filter(({ name }) => names(before, "containers").includes(name)).length;
    }
    return (
      isRight &&
      jsonEqual(
        versions.map((key) => key.slice("version.sidecarset.kruise.io/".length)).sort(),
        versioned.map(({ name }) => String(name)).sort(),
      ) &&
      versioned.length === 2 * Object.keys(working).length
    );
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 10, numRuns: 3000 }));
  t.ok(
    Object.values(seen).every((count) => count > 100),
    JSON.stringify(seen),
  );
});
