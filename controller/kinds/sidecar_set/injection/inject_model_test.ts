/** Random sets and pods against a plain reading of the rules, which shares no code with the injection. Spec: sidecarset 3 to 10, 15, 40. */
import fc from "fast-check";
import t from "tap";
import { cloneJson, type JsonObject, jsonEqual } from "../../../../kube/core/index.ts";
import { frozen } from "../../../../testkit/controller/frozen_builder.ts";
import { injectSidecars } from "./inject.ts";
import { prepareSidecars } from "./sidecars.ts";

interface Named {
  readonly name: string;
  readonly value?: string;
}
interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPathExpr?: string;
}
interface Device {
  readonly name: string;
  readonly devicePath: string;
}

const few = <T>(item: fc.Arbitrary<T>, key: (item: T) => unknown) =>
  fc.uniqueArray(item, { selector: key, maxLength: 3 });
const name = fc.constantFrom<string>("a", "b", "app", "log");
/** Names may come twice: the last one counts. */
const env = fc.array(
  fc.record({
    name: fc.constantFrom("A", "B", "C", "IS_INJECTED", "constructor"),
    value: fc.constantFrom("1", "true"),
  }),
  { maxLength: 3 },
);
const mount: fc.Arbitrary<Mount> = fc.record(
  {
    name: fc.constantFrom("v1", "v2", "v3"),
    mountPath: fc.constantFrom("/a", "/b", "/c", "/dev"),
    subPathExpr: fc.constantFrom("", "x/$(A)/$(B)", "$(C)", "$(A", "$(Z)/$(A)$(A)", "$(constructor)"),
  },
  { requiredKeys: ["name", "mountPath"] },
);
const device: fc.Arbitrary<Device> = fc.record({
  name: fc.constantFrom("v1", "v4"),
  devicePath: fc.constantFrom("/dev", "/disk", "/a"),
});
const container = fc.record({
  name,
  image: fc.constant("app:1"),
  env,
  volumeMounts: few(mount, ({ mountPath }) => mountPath),
  volumeDevices: few(device, ({ devicePath }) => devicePath),
});
interface Transfer {
  readonly sourceContainerName?: string;
  readonly sourceContainerNameFrom?: { fieldRef: { fieldPath: string } };
  readonly envName?: string;
  readonly envNames?: string[];
}
const source = (fieldPath: string): Transfer => ({ sourceContainerNameFrom: { fieldRef: { fieldPath } } });
const transfer: fc.Arbitrary<Transfer> = fc
  .tuple(
    fc.constantFrom<Transfer>(
      { sourceContainerName: "app" },
      { sourceContainerName: "nobody" },
      source("metadata.labels['source']"),
      source("metadata.annotations['source']"),
    ),
    fc.constantFrom<Transfer>({}, { envName: "" }, { envName: "A" }, { envName: "B" }),
    fc.constantFrom<Transfer>({}, { envNames: [] }, { envNames: ["C", "A"] }, { envNames: ["Z", "B", "B"] }),
  )
  .map(([from, one, more]) => ({ ...from, ...one, ...more }));
const share = fc.constantFrom<{ type: string }>({ type: "enabled" }, { type: "disabled" });
const hot = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty" };
const sidecar = fc
  .record(
    {
      container,
      podInjectPolicy: fc.constantFrom<string>("BeforeAppContainer", "AfterAppContainer"),
      shareVolumePolicy: share,
      shareVolumeDevicePolicy: share,
      transferEnv: fc.array(transfer, { maxLength: 2 }),
      upgradeStrategy: fc.constantFrom<{ upgradeType: string; hotUpgradeEmptyImage?: string }>(hot, {
        upgradeType: "ColdUpgrade",
      }),
      restartPolicy: fc.constant<string>("Always"),
    },
    { requiredKeys: ["container", "transferEnv"] },
  )
  .map(({ container, ...rest }) => ({ ...container, image: "side:1", ...rest }));
const set = fc.record({
  name: fc.constantFrom<string>("s1", "s2", "s3"),
  containers: few(sidecar, (one) => one.name),
  initContainers: few(sidecar, (one) => one.name),
  volumes: few(
    fc.record({ name: fc.constantFrom("v1", "v2", "v3", "v4", "v5"), emptyDir: fc.constant({}) }),
    (one) => one.name,
  ),
  imagePullSecrets: fc.array(fc.record({ name: fc.constantFrom("p", "q") }), { maxLength: 3 }),
  patchPodMetadata: fc.array(
    fc.record({
      annotations: fc.dictionary(fc.constantFrom("source", "x"), name),
      patchPolicy: fc.constantFrom<string>("Retain", "Overwrite", ""),
    }),
    { maxLength: 2 },
  ),
});
const pod = fc.record({
  labels: fc.constantFrom<Record<string, string>>({}, { source: "app" }, { source: "log" }),
  annotations: fc.constantFrom<Record<string, string>>({}, { source: "a" }, { x: "1" }),
  containers: fc.uniqueArray(container, { selector: (one) => one.name, minLength: 1, maxLength: 3 }),
  initContainers: few(container, (one) => one.name),
  volumes: fc.constantFrom<Named[]>([], [{ name: "v1" }], [{ name: "v9" }, { name: "v3" }]),
  imagePullSecrets: fc.constantFrom<Named[]>([], [{ name: "q" }]),
});

type Of<A> = A extends fc.Arbitrary<infer G> ? G : never;
type GivenPod = Of<typeof pod>;
type Sidecar = Of<typeof sidecar>;
type GivenSet = Of<typeof set>;
type Lists = "containers" | "initContainers";

const isTrue = ({ name, value }: Named) => name === "IS_INJECTED" && value === "true";
/** Rules 4 and 24. */
const isPair = (one: Sidecar, list: Lists) =>
  one.upgradeStrategy?.upgradeType === "HotUpgrade" &&
  (list === "containers" || one.restartPolicy === "Always");

/** Rules 7 to 9 and 40: the containers that a sidecar becomes, sorted by nothing yet. */
function made(one: Sidecar, list: Lists, app: GivenPod, marks: Record<string, string>): JsonObject[] {
  const {
    podInjectPolicy: _1,
    shareVolumePolicy,
    shareVolumeDevicePolicy,
    transferEnv,
    upgradeStrategy,
    ...core
  } = one;
  const variable = (of: Of<typeof container> | undefined, wanted: string) =>
    (of?.env ?? []).filter(({ name }) => name === wanted).slice(-1);
  const given: Named[] = [];
  for (const each of transferEnv) {
    const { sourceContainerName, sourceContainerNameFrom, envName, envNames } = each;
    const path = sourceContainerNameFrom?.fieldRef.fieldPath ?? "";
    const from = path === "" ? sourceContainerName : (path.includes("labels") ? app.labels : marks)["source"];
    const wanted: string[] = [...new Set<string>([envName ?? "", ...(envNames ?? [])])].filter(
      (each) => each !== "",
    );
    for (const each of wanted.sort())
      given.push(
        ...variable(
          app.containers.find((other) => other.name === from),
          each,
        ),
      );
  }
  const mounts = [...core.volumeMounts];
  const devices = [...core.volumeDevices];
  const paths = new Set([...mounts.map((each) => each.mountPath), ...devices.map((each) => each.devicePath)]);
  for (const of of app.containers.filter((each) => !each.env.some(isTrue))) {
    for (const each of shareVolumePolicy?.type === "enabled" ? of.volumeMounts : []) {
      if (paths.has(each.mountPath)) continue;
      paths.add(each.mountPath);
      mounts.push(each);
      for (const [, wanted = ""] of (each.subPathExpr ?? "").matchAll(/\$\((\w+)\)/g))
        given.push(...variable(of, wanted));
    }
    for (const each of shareVolumeDevicePolicy?.type === "enabled" ? of.volumeDevices : []) {
      if (paths.has(each.devicePath)) continue;
      paths.add(each.devicePath);
      devices.push(each);
    }
  }
  const names = isPair(one, list) ? [`${one.name}-1`, `${one.name}-2`] : [one.name];
  return names.map((container, index) => {
    const own = (name: string, prefix: string): JsonObject => ({
      name,
      valueFrom: {
        fieldRef: { apiVersion: "v1", fieldPath: `metadata.annotations['${prefix}${container}']` },
      },
    });
    const versions = isPair(one, list)
      ? [
          own("SIDECARSET_VERSION", "version.sidecarset.kruise.io/"),
          own("SIDECARSET_VERSION_ALT", "versionalt.sidecarset.kruise.io/"),
        ]
      : [];
    const all: JsonObject[] = [...core.env];
    for (const each of [{ name: "IS_INJECTED", value: "true" }, ...given, ...versions])
      if (!all.some(({ name }) => name === each.name)) all.push({ ...each });
    const image = index === 0 ? core.image : "empty";
    return { ...core, name: container, image, env: all, volumeMounts: mounts, volumeDevices: devices };
  });
}

function placed(own: readonly JsonObject[], added: readonly { before: boolean; container: JsonObject }[]) {
  const isOwn = (one: JsonObject) => own.some(({ name }) => name === one["name"]);
  const at = (before: boolean) =>
    added.filter((one) => one.before === before && !isOwn(one.container)).map((one) => one.container);
  const kept = own.map(
    (one) => added.findLast(({ container }) => container["name"] === one["name"])?.container ?? one,
  );
  return [...at(true), ...kept, ...at(false)];
}

/** Rules 3 to 6, 10, 15. */
function expected(given: GivenPod, sets: readonly GivenSet[]) {
  const marks: Record<string, string> = { ...given.annotations };
  for (const { patchPodMetadata } of sets)
    for (const { annotations, patchPolicy } of patchPodMetadata)
      for (const [key, value] of Object.entries(annotations))
        if (patchPolicy === "Overwrite" || !Object.hasOwn(marks, key)) marks[key] = value;
  const lists = (list: Lists) => {
    const added = sets.flatMap((each) =>
      each[list].flatMap((one) => {
        const before = (one.podInjectPolicy ?? (list === "containers" ? "Before" : "After")).startsWith(
          "Before",
        );
        return made(one, list, given, marks).map((container) => ({ before, container }));
      }),
    );
    if (list === "initContainers")
      added.sort((a, b) => (String(a.container["name"]) < String(b.container["name"]) ? -1 : 1));
    return placed(
      given[list].map((one) => ({ ...one })),
      added,
    );
  };
  const isAny = sets.some(({ containers, initContainers }) => containers.length + initContainers.length > 0);
  const volumes = [...given.volumes];
  const secrets = [...given.imagePullSecrets];
  for (const each of isAny ? sets : []) {
    const used = [...each.initContainers, ...each.containers].flatMap((one) => [
      ...one.volumeMounts,
      ...one.volumeDevices,
    ]);
    for (const { name } of used) {
      const found = each.volumes.find((one) => one.name === name);
      if (found !== undefined && !volumes.some((one) => one.name === name)) volumes.push(found);
    }
    for (const { name } of each.imagePullSecrets)
      if (!secrets.some((one) => one.name === name)) secrets.push({ name });
  }
  const listed = (each: GivenSet) =>
    [...each.containers, ...each.initContainers.filter((one) => one.restartPolicy === "Always")].map(
      (one) => one.name,
    );
  return {
    containers: lists("containers"),
    initContainers: lists("initContainers"),
    volumes: volumes.map(({ name }) => name).sort(),
    secrets: secrets.map(({ name }) => name),
    marks,
    injected: isAny
      ? sets
          .map((each) => each.name)
          .sort()
          .join()
      : undefined,
    lists: isAny ? Object.fromEntries(sets.map((each) => [each.name, listed(each).sort()])) : {},
  };
}

/** A set's sidecars have names of their own, as admission sees to; a pod's container may have one of them all the same. */
function renamed(sets: readonly GivenSet[]): GivenSet[] {
  return sets.map(({ containers, initContainers, ...rest }) => ({
    ...rest,
    containers: containers.map((one) => ({
      ...one,
      name: one.name === "log" && rest.name === "s1" ? "log" : `${rest.name}-${one.name}`,
    })),
    initContainers: initContainers.map((one) => ({ ...one, name: `${rest.name}-i-${one.name}` })),
  }));
}

/** The same of what was injected. */
function found(object: JsonObject) {
  const { containers, initContainers, volumes, imagePullSecrets } = Object(object["spec"]);
  const all: Record<string, string> = Object(Object(object["metadata"]).annotations);
  const hashes = JSON.parse(all["kruise.io/sidecarset-hash"] ?? "{}");
  const lists = Object.entries(hashes).map(([key, entry]) => [key, Object(entry).sidecarList]);
  return {
    containers,
    initContainers,
    volumes: volumes.map(({ name }: Named) => name).sort(),
    secrets: imagePullSecrets.map(({ name }: Named) => name),
    marks: Object.fromEntries(Object.entries(all).filter(([key]) => !key.includes("kruise.io/"))),
    injected: all["kruise.io/sidecarset-injected-list"],
    lists: Object.fromEntries(lists),
  };
}

/** Empty lists are as good as none. */
const plain = (value: object): JsonObject =>
  JSON.parse(
    JSON.stringify(value, (_, each) => (Array.isArray(each) && each.length === 0 ? undefined : each)),
  );

const hashes = { "kruise.io/sidecarset-hash": "h", "kruise.io/sidecarset-hash-without-image": "w" };

t.test("property: the whole pod is as the rules have it", async (t) => {
  const met = { replaced: 0, transferred: 0, shared: 0, secrets: 0 };
  const sets = fc.uniqueArray(set, { selector: (one) => one.name, maxLength: 3 }).map(renamed);
  const property = fc.property(pod, sets, (given, sets) => {
    const { labels, annotations, ...spec } = given;
    const object: JsonObject = cloneJson({ metadata: { name: "web", labels, annotations }, spec });
    const prepared = sets.map(({ name, ...of }) => prepareSidecars(name, frozen(of), hashes, "r"));
    injectSidecars(object, prepared, { sortByName: false, now: 0 });
    const want = expected(given, sets);
    const all = sets.flatMap(({ containers }) => containers);
    if (all.some(({ name }) => given.containers.some((one) => one.name === name))) met.replaced++;
    if (all.some(({ transferEnv }) => transferEnv.length > 0)) met.transferred++;
    if (all.some(({ shareVolumePolicy }) => shareVolumePolicy?.type === "enabled")) met.shared++;
    if (want.secrets.length > given.imagePullSecrets.length) met.secrets++;
    if (!jsonEqual(plain(found(object)), plain(want))) throw new Error(JSON.stringify([found(object), want]));
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 41, numRuns: 500 }));
  t.ok(
    Object.values(met).every((count) => count > 20),
    JSON.stringify(met),
  );
});
