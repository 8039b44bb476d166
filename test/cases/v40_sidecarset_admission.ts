import assert from "node:assert/strict";
import { type Item, isRecord } from "../cluster/api.ts";
import { configure } from "./kruise_configuration.ts";
import type { ApiVersion } from "./step_result.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const NAMESPACE_NAME = "kubernetes.io/metadata.name";
const CUSTOM_VERSION = "apps.kruise.io/sidecarset-custom-version";
const HASHES = ["kruise.io/sidecarset-hash", "kruise.io/sidecarset-hash-without-image"];

/** SidecarSets belong to no namespace: their names and selectors are different in every run. */
class SidecarSets {
  readonly #world: World;
  readonly #id: string;
  readonly #made = new Set<string>();

  constructor(world: World) {
    this.#world = world;
    this.#id = world.namespace.split("-").at(-1) ?? "";
  }

  name(name: string): string {
    return `${name}-${this.#id}`;
  }

  resource(version: ApiVersion = this.#world.version): string {
    return `sidecarsets.${version}.apps.kruise.io`;
  }

  manifest(name: string, spec: object = {}, metadata: object = {}): object {
    return {
      apiVersion: `apps.kruise.io/${this.#world.version}`,
      kind: "SidecarSet",
      metadata: { name: this.name(name), ...metadata },
      spec: {
        selector: { matchLabels: { case: this.name("admission") } },
        containers: [{ name: "side", image: "busybox:1.36" }],
        ...spec,
      },
    };
  }

  async create(name: string, spec: object = {}, metadata: object = {}): Promise<Item> {
    const made = await this.#world.api.create(this.manifest(name, spec, metadata));
    this.#made.add(made.metadata.name);
    return made;
  }

  /** What the webhook says, without the API server's words before it. */
  async refused(send: () => Promise<unknown>): Promise<string> {
    const message = await this.#world.refused(send, 500);
    const before = 'admission webhook "vsidecarset.kb.io" denied the request: ';
    assert.ok(message.includes(before), message);
    return message.slice(message.indexOf(before) + before.length);
  }

  async removeAll(): Promise<void> {
    for (const name of this.#made) await this.#world.api.remove(this.resource(), name);
  }
}

export const suite: Suite = {
  number: "v40",
  title: "SidecarSet: admission",
  needs: [],
  async run(world) {
    const sets = new SidecarSets(world);
    try {
      await world.step("1 defaults and hashes, the same in both versions", () => stepOne(world, sets));
      await world.step("2 what is refused in one SidecarSet", () => stepTwo(world, sets));
      await world.step("3 what is refused in a change", () => stepThree(world, sets));
      await world.step("4 conflicts with another one", () => stepFour(sets));
      // The whitelist is one for the whole cluster: runs in both versions at a time would see each other's.
      if (world.version === "v1beta1")
        await world.step("5 annotations for pods need the whitelist", () => stepFive(world, sets));
    } finally {
      await sets.removeAll();
    }
  },
};

async function stepOne(world: World, sets: SidecarSets): Promise<void> {
  const ns = world.namespace;
  const older = world.version === "v1alpha1";
  const selected = { namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: ns } } };
  await sets.create(
    "first",
    older ? { namespace: ns } : { ...selected, customVersion: "1" },
    older ? { labels: { [CUSTOM_VERSION]: "1" } } : {},
  );
  const hashes = new Set<string>();
  for (const version of ["v1alpha1", "v1beta1"] as const) {
    const { metadata, spec = {} } = await world.api.get(sets.resource(version), sets.name("first"));
    assert.deepEqual(spec["updateStrategy"], { type: "RollingUpdate", partition: 0, maxUnavailable: 1 });
    assert.equal(spec["revisionHistoryLimit"], 10);
    assert.deepEqual(spec["namespaceSelector"], selected.namespaceSelector);
    assert.equal(spec["namespace"], undefined);
    assert.equal(version === "v1alpha1" ? metadata.labels?.[CUSTOM_VERSION] : spec["customVersion"], "1");
    const [container]: unknown[] = Array.isArray(spec["containers"]) ? spec["containers"] : [];
    assert.ok(isRecord(container));
    assert.equal(container["podInjectPolicy"], "BeforeAppContainer");
    assert.equal(container["imagePullPolicy"], "IfNotPresent");
    assert.deepEqual(container["upgradeStrategy"], { upgradeType: "ColdUpgrade" });
    assert.deepEqual(container["shareVolumePolicy"], { type: "disabled" });
    for (const key of HASHES) hashes.add(metadata.annotations?.[key] ?? "none");
  }
  assert.equal(hashes.size, HASHES.length, "the hashes are those of both versions");
  for (const hash of hashes) assert.match(hash, /^[b-df-hj-np-tv-xz2-9]{64}$/);
}

async function stepTwo(world: World, sets: SidecarSets): Promise<void> {
  const create = (spec: object) => () => world.api.create(sets.manifest("refused", spec));
  const empty = "empty selector is not valid for sidecarset.";
  const policy = {
    targetContainersMode: "sum",
    resourcesExpr: { limits: { cpu: "cpu/0" } },
  };
  const refusals: [spec: object, words: string][] = [
    [{ selector: {} }, `spec.selector: Invalid value: {}: ${empty}`],
    [{ namespaceSelector: {} }, `spec.namespaceSelector: Invalid value: {}: ${empty}`],
    [{ containers: [] }, "spec: Required value: no initContainer or container defined for SidecarSet"],
    [
      { updateStrategy: { maxUnavailable: -1 } },
      "spec.updateStrategy.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
    ],
    [
      { initContainers: [{ name: "native", image: "a", restartPolicy: "Always" }] },
      "spec.updateStrategy: Required value: The initContainer in-place upgrade is not currently supported.",
    ],
    [
      { containers: [{ name: "side", image: "a", podInjectPolicy: "Between" }] },
      'spec.container.podInjectPolicy: Invalid value: "Between": unsupported pod inject policy',
    ],
    [
      { containers: [{ name: "side", image: "a", volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ],
    [
      { containers: [{ name: "side", image: "a", transferEnv: [{ sourceContainerNameFrom: {} }] }] },
      "spec[0].transferEnv.fieldRef: Required value: sourceContainerNameFrom needs a fieldRef",
    ],
    [
      { containers: [{ name: "side", image: "a", resourcesPolicy: policy }] },
      'spec[0].resourcesPolicy.resourcesExpr.limits.cpu: Invalid value: "cpu/0": invalid expression: division by zero',
    ],
    [
      { injectionStrategy: { revision: { revisionName: "no-such-revision" } } },
      'revision: Invalid value: null: Cannot find specific ControllerRevision, err: ControllerRevision.apps "no-such-revision" not found',
    ],
  ];
  for (const [spec, words] of refusals) assert.equal(await sets.refused(create(spec)), words);
  const several = create({ selector: {}, containers: [] });
  assert.match(await sets.refused(several), /^\[spec\.selector: .*, spec: Required value: .*\]$/);
}

async function stepThree(world: World, sets: SidecarSets): Promise<void> {
  const patch = (spec: object) => () => world.patch(sets.resource(), sets.name("first"), "merge", { spec });
  const [side, more] = [
    { name: "side", image: "busybox:1.36" },
    { name: "more", image: "busybox:1.36" },
  ];
  assert.equal(
    await sets.refused(patch({ containers: [side, more] })),
    'spec.containers.name: Invalid value: "more": container more is not found',
  );
  const upgradeStrategy = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "empty:1" };
  assert.equal(
    await sets.refused(patch({ containers: [{ ...side, upgradeStrategy }] })),
    'spec.containers.upgradeStrategy.upgradeType: Invalid value: "side": container side upgradeType is immutable',
  );
  const hash = async () => {
    const { annotations } = (await world.api.get(sets.resource(), sets.name("first"))).metadata;
    return HASHES.map((key) => annotations?.[key]);
  };
  const [before, beforeWithoutImage] = await hash();
  await patch({ containers: [{ ...side, image: "busybox:1.37" }] })();
  const [after, afterWithoutImage] = await hash();
  assert.notEqual(after, before);
  assert.equal(afterWithoutImage, beforeWithoutImage);
}

async function stepFour(sets: SidecarSets): Promise<void> {
  const conflict = `spec.containers: Invalid value: "side": container side already exist in ${sets.name("first")}`;
  assert.equal(await sets.refused(() => sets.create("second")), conflict);
  const annotations = {
    "apps.kruise.io/sidecarset-canary": "true",
    "apps.kruise.io/sidecarset-base": sets.name("first"),
  };
  const words = await sets.refused(() => sets.create("canary", {}, { annotations }));
  assert.match(words, /^metadata: .*: RollingUpdate is not supported for canary sidecarSet$/);
  await sets.create("canary", { updateStrategy: { type: "NotUpdate" } }, { annotations });
  await sets.create("elsewhere", { selector: { matchLabels: { case: sets.name("elsewhere") } } });
}

async function stepFive(world: World, sets: SidecarSets): Promise<void> {
  const spec = {
    selector: { matchLabels: { case: sets.name("patching") } },
    patchPodMetadata: [{ annotations: { "oom-score": "1" } }],
  };
  const labels = { case: sets.name("patching") };
  const create = () => sets.create("patching", spec, { labels });
  assert.equal(
    await sets.refused(create),
    "spec.patchPodMetadata: Required value: SidecarSet patch metadata whitelist not found",
  );
  const allowed = (expression: string) =>
    JSON.stringify({
      rules: [{ selector: { matchLabels: labels }, allowedAnnotationKeyExprs: [expression] }],
    });
  const key = "SidecarSet_PatchPodMetadata_WhiteList";
  await configure(world, { [key]: allowed("^other$") });
  try {
    assert.equal(
      await sets.refused(create),
      "spec.patchPodMetadata: Required value: sidecarSet patch metadata annotation(oom-score) is not allowed",
    );
    await configure(world, { [key]: allowed("^oom-score$") });
    await create();
  } finally {
    await configure(world, { [key]: null });
  }
}
