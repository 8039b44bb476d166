/** What admission refuses in SidecarSets, by its exact words. Spec: sidecarset 6. */
import t from "tap";
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import type { Draft } from "../kind_reader.ts";
import { defaultSidecarSet } from "./default.ts";
import { type SidecarSet, sidecarSet } from "./schema.ts";
import { type SidecarSetValidation, validateSidecarSet } from "./validate.ts";

const main = { name: "side", image: "busybox:1" };

function raw(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "SidecarSet",
    metadata: { name: "mesh", ...metadata },
    spec: { selector: { matchLabels: { app: "a" } }, containers: [main], ...spec },
  };
}

function stored(object: JsonObject): Draft<SidecarSet> {
  const decoded = sidecarSet.readStored(defaultSidecarSet(object));
  if ("errors" in decoded) throw new Error(formatFieldErrors(decoded.errors));
  return decoded.object;
}

const nothing: SidecarSetValidation = {
  allowPrivileged: true,
  whitelist: { text: undefined, allowedByDefault: true },
  stored: [],
  revisionProblem: () => undefined,
};

function complaints(next: JsonObject, old?: JsonObject, context: Partial<SidecarSetValidation> = {}): string {
  const before = old === undefined ? undefined : stored(old);
  return formatFieldErrors(validateSidecarSet(stored(next), before, { ...nothing, ...context }));
}

/** Of a spec with one sidecar of these fields. */
const sidecar = (fields: JsonObject, more: JsonObject = {}) =>
  complaints(raw({ containers: [{ ...main, ...fields }], ...more }));

t.test("what is accepted", async (t) => {
  t.equal(complaints(raw({})), "");
  t.equal(complaints(raw({ containers: null, initContainers: [main] })), "", "init containers alone");
  const named = [{ ...main, name: "test" }];
  t.equal(complaints(raw({ containers: null, initContainers: named })), "", "of whatever name");
  t.equal(complaints(raw({ updateStrategy: { type: "Whatever", partition: "x" } })), "", "no such type");
  t.equal(complaints(raw({ updateStrategy: { maxUnavailable: 0 } })), "");
  t.equal(sidecar({ upgradeStrategy: { upgradeType: "Whatever" } }), "", "acts as ColdUpgrade");
  t.equal(sidecar({ startupProbe: { httpGet: { port: 80 } } }), "", "pods get its defaults from the server");
});

t.test("names", async (t) => {
  const words =
    "sidecarset name must consist of alphanumeric characters or '-' (e.g. 'example-com', regex used for validation is '^[a-zA-Z0-9\\-]+$')";
  t.equal(
    complaints(raw({}, { name: "a.b" })),
    `metadata.name: Invalid value: "a.b": ${words}`,
    "dots are not accepted",
  );
  t.match(complaints(raw({}, { name: "a".repeat(64) })), "must be no more than 63");
  t.equal(complaints(raw({}, { name: "Upper-1" })), "");
});

t.test("selectors", async (t) => {
  const empty = "empty selector is not valid for sidecarset.";
  t.equal(
    complaints(raw({ selector: null })),
    "spec.selector: Required value: no selector defined for SidecarSet",
  );
  t.equal(complaints(raw({ selector: {} })), `spec.selector: Invalid value: {}: ${empty}`);
  t.equal(complaints(raw({ namespaceSelector: {} })), `spec.namespaceSelector: Invalid value: {}: ${empty}`);
  t.equal(
    complaints(raw({ updateStrategy: { selector: {} } })),
    `spec.updateStrategy.selector: Invalid value: {}: ${empty}`,
  );
  t.equal(complaints(raw({ updateStrategy: { type: "NotUpdate", selector: {} } })), "");
  t.equal(
    complaints(raw({ selector: { matchExpressions: [{ key: "a", operator: "Is" }] } })),
    'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
  );
});

t.test("update strategy", async (t) => {
  const strategy = (fields: JsonObject) => complaints(raw({ updateStrategy: fields }));
  const selector = { matchLabels: { a: "b" } };
  const path = "spec.updateStrategy";
  const percent =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
  t.match(strategy({ selector, partition: 1 }), "Partition and Selector cannot be used together");
  t.match(strategy({ selector, partition: "0%" }), /^updateStrategy: Invalid value: /);
  t.equal(strategy({ selector, partition: 0 }), "");
  t.equal(
    strategy({ partition: -1 }),
    `${path}.partition: Invalid value: -1: must be greater than or equal to 0`,
  );
  t.equal(strategy({ maxUnavailable: "x" }), `${path}.maxUnavailable: Invalid value: "x": ${percent}`);
  t.equal(strategy({ maxUnavailable: "200%" }), "");
  const priority = `${path}.priorityStrategy: Required value`;
  const weight = (value: number, matchSelector: JsonObject = selector) => ({
    priorityStrategy: { weightPriority: [{ weight: value, matchSelector }] },
  });
  t.equal(strategy(weight(101)), `${priority}: weight must be valid number in the range 1-100`);
  t.equal(strategy(weight(0)), "");
  t.equal(strategy(weight(1, {})), `${priority}: selector can not be empty`);
  t.equal(
    strategy({ priorityStrategy: { orderPriority: [{ orderedKey: "" }] } }),
    `${priority}: order key can not be empty`,
  );
  t.equal(
    strategy({
      priorityStrategy: { ...weight(1).priorityStrategy, orderPriority: [{ orderedKey: "a" }] },
    }),
    `${priority}: only one of weightPriority and orderPriority can be used`,
  );
  const pair = { key: "k", value: "v" };
  t.equal(
    strategy({ scatterStrategy: [{ key: "", value: "" }] }),
    `${path}.scatterStrategy: Required value: key should not be empty`,
  );
  t.equal(
    strategy({ scatterStrategy: [pair, pair] }),
    `${path}.scatterStrategy: Required value: duplicated key=k value=v`,
  );
});

t.test("native sidecars are not updated in place", async (t) => {
  const spec = { initContainers: [{ ...main, name: "native", restartPolicy: "Always" }] };
  t.equal(
    complaints(raw(spec)),
    "spec.updateStrategy: Required value: The initContainer in-place upgrade is not currently supported.",
  );
  t.equal(complaints(raw({ ...spec, updateStrategy: { type: "NotUpdate" } })), "");
});

t.test("the revision for new pods", async (t) => {
  const revision = (fields: JsonObject) => raw({ injectionStrategy: { revision: fields } });
  t.equal(
    complaints(revision({})),
    'revision: Invalid value: {"policy":"Always"}: revisionName and customVersion cannot be empty simultaneously',
  );
  const problem = 'ControllerRevision.apps "r" not found';
  t.equal(complaints(revision({ revisionName: "r" })), "");
  t.equal(
    complaints(revision({ revisionName: "r" }), undefined, { revisionProblem: () => problem }),
    `revision: Invalid value: null: Cannot find specific ControllerRevision, err: ${problem}`,
  );
});

t.test("sidecars", async (t) => {
  t.equal(
    complaints(raw({ containers: [] })),
    "spec: Required value: no initContainer or container defined for SidecarSet",
  );
  t.equal(
    sidecar({ podInjectPolicy: "Somewhere" }),
    'spec.container.podInjectPolicy: Invalid value: "Somewhere": unsupported pod inject policy',
  );
  t.equal(
    sidecar({ shareVolumePolicy: { type: "x" } }),
    'spec.container.shareVolumePolicy: Invalid value: {"type":"x"}: unsupported share volume policy',
  );
  t.equal(sidecar({ image: "" }), "spec.containers[0].image: Required value");
  t.equal(
    sidecar({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    'spec.containers[0].volumeMounts[0].name: Not found: "v"',
  );
  t.equal(sidecar({ volumeMounts: [{ name: "v", mountPath: "/v" }] }, { volumes: [{ name: "v" }] }), "");
  t.equal(
    complaints(raw({ volumes: [{ name: "v" }, { name: "v" }] })),
    'spec.volumes[1].name: Duplicate value: "v"',
  );
  t.equal(
    complaints(raw({ initContainers: [main] })),
    'spec.initContainers[0].name: Duplicate value: "side"',
  );
  const privileged = raw({ containers: [{ ...main, securityContext: { privileged: true } }] });
  t.equal(complaints(privileged), "");
  t.match(complaints(privileged, undefined, { allowPrivileged: false }), "disallowed by cluster policy");
});

t.test("environment from a container that a field of the pod names", async (t) => {
  const from = (fieldPath: string, apiVersion = "v1") =>
    sidecar({ transferEnv: [{ sourceContainerNameFrom: { fieldRef: { fieldPath, apiVersion } } }] });
  const path = "spec[0].transferEnv.fieldRef";
  const refused = (value: string, words: string) =>
    `${path}.fieldPath: Invalid value: "${value}": error converting fieldPath: ${words}`;
  t.equal(from("metadata.labels['biz']"), "");
  t.equal(from("metadata.annotations['Biz/Main']"), "");
  t.equal(from("metadata.name"), refused("metadata.name", "field label not supported: metadata.name"));
  t.equal(from("spec.x['a']"), refused("spec.x['a']", "field path not supported: spec.x"));
  t.equal(from("['a']"), refused("['a']", "field label not supported: ['a']"));
  t.equal(from("a['"), refused("a['", "field label not supported: a['"));
  t.equal(from(""), `${path}.fieldPath: Required value`);
  t.equal(from("metadata.labels['a']", "v2"), refused("metadata.labels['a']", "unsupported pod version: v2"));
  t.match(from("metadata.labels['a b']"), /^spec\[0\]\.transferEnv\.fieldRef: Invalid value: "a b": /);
  t.equal(
    sidecar({ transferEnv: [{ sourceContainerNameFrom: {} }] }),
    `${path}: Required value: sourceContainerNameFrom needs a fieldRef`,
  );
});

t.test("resources by those of other containers", async (t) => {
  const policy = (fields: JsonObject = {}) => ({
    targetContainersMode: "sum",
    targetContainersNameRegex: ".*",
    resourcesExpr: { limits: { cpu: "cpu*50%" } },
    ...fields,
  });
  const path = "spec[0].resourcesPolicy";
  const limit = (cpu: string) => sidecar({ resourcesPolicy: policy({ resourcesExpr: { limits: { cpu } } }) });
  const refused = (cpu: string, words: string) =>
    `${path}.resourcesExpr.limits.cpu: Invalid value: "${cpu}": invalid expression: ${words}`;
  t.equal(limit("max(cpu*50%, 100m)"), "");
  t.equal(limit("cpu*cpu"), "", "fails only where there are quantities");
  t.equal(limit("cpu/0"), refused("cpu/0", "division by zero"));
  t.equal(limit("memory"), refused("memory", "undefined variable: memory"));
  t.match(limit("cpu-2"), "invalid expression: calculation result is negative");
  t.equal(
    sidecar({ resourcesPolicy: policy({ targetContainersNameRegex: "" }) }),
    `${path}.targetContainersNameRegex: Required value: invalid empty regex`,
  );
  t.match(
    sidecar({ resourcesPolicy: policy({ targetContainersNameRegex: "(" }) }),
    `${path}.targetContainersNameRegex: Invalid value: "(": invalid regex pattern: `,
  );
  t.equal(
    sidecar({ resourcesPolicy: policy({ resourcesExpr: {} }) }),
    `${path}.resourcesExpr: Invalid value: {}: at least one of limits or requests must be configured`,
  );
  t.match(
    sidecar({ resourcesPolicy: policy(), resources: { limits: { cpu: "1" } } }),
    "resourcesPolicy and resources cannot be configured together",
  );
  const inInit = (more: JsonObject) =>
    complaints(
      raw({
        updateStrategy: { type: "NotUpdate" },
        initContainers: [{ ...main, name: "i", resourcesPolicy: policy(), ...more }],
      }),
    );
  t.equal(
    inInit({}),
    `${path}: Forbidden: resourcesPolicy is only supported for containers with RestartPolicy Always`,
  );
  t.equal(inInit({ restartPolicy: "Always" }), "");
});

t.test("HotUpgrade with which no pod could be created", async (t) => {
  const hot = { upgradeType: "HotUpgrade" };
  const needed =
    "spec.containers[0].upgradeStrategy.hotUpgradeEmptyImage: Required value: HotUpgrade needs the image of the idle container";
  const broken = raw({ containers: [{ ...main, upgradeStrategy: hot }] });
  t.equal(complaints(broken), needed);
  t.equal(complaints(broken, broken), "", "what is stored may stay");
  const upgradeStrategy = { ...hot, hotUpgradeEmptyImage: "empty:1" };
  t.equal(sidecar({ name: "a".repeat(61), upgradeStrategy }), "");
  t.match(sidecar({ name: "a".repeat(62), upgradeStrategy }), "must be no more than 61 characters");
  const taken = (made: string, list = "containers") =>
    `spec.${list}[0].name: Invalid value: "mesh": HotUpgrade makes a container ${made} of it, and another one has that name`;
  const mesh = { ...main, name: "mesh", upgradeStrategy };
  const beside = (name: string) => raw({ containers: [mesh, { ...main, name }] });
  t.equal(complaints(beside("mesh-1")), taken("mesh-1"));
  t.equal(complaints(beside("mesh-2")), taken("mesh-2"));
  t.equal(complaints(beside("mesh-1"), beside("mesh-1")), "", "what is stored may stay");
  t.equal(complaints(beside("mesh-3")), "");
  t.equal(complaints(raw({ containers: [mesh, { ...mesh, name: "mesh-1" }] })), "", "mesh-1-1 and mesh-1-2");
  t.equal(
    complaints(raw({ containers: [mesh], initContainers: [{ ...main, name: "mesh-2" }] })),
    taken("mesh-2"),
    "init containers share their pod's names",
  );
  const native = { ...mesh, restartPolicy: "Always" };
  const updateStrategy = { type: "NotUpdate" };
  const inInit = (initContainer: JsonObject, ...names: string[]) =>
    raw({
      containers: names.map((name) => ({ ...main, name })),
      initContainers: [initContainer],
      updateStrategy,
    });
  t.equal(complaints(inInit(native, "mesh-1")), taken("mesh-1", "initContainers"));
});

t.test(
  "a plain init container with HotUpgrade is one container: nothing of a pair is asked of it",
  async (t) => {
    const hot = { upgradeType: "HotUpgrade" };
    const init = { ...main, name: "mesh", upgradeStrategy: hot };
    const updateStrategy = { type: "NotUpdate" };
    const needed =
      "spec.initContainers[0].upgradeStrategy.hotUpgradeEmptyImage: Required value: HotUpgrade needs the image of the idle container";
    const plain = raw({ initContainers: [init], updateStrategy });
    const native = raw({ initContainers: [{ ...init, restartPolicy: "Always" }], updateStrategy });
    t.equal(complaints(plain), "");
    t.equal(complaints(native), needed);
    t.equal(complaints(native, native), "", "what is stored may stay");
    t.equal(complaints(native, plain), needed, "it becomes a pair now");
    t.equal(complaints(raw({ initContainers: [{ ...init, name: "a".repeat(63) }] })), "");
    t.equal(complaints(raw({ containers: [{ ...main, name: "mesh-1" }], initContainers: [init] })), "");
  },
);

t.test("annotations for pods", async (t) => {
  const patching = (...patches: JsonObject[]) => raw({ patchPodMetadata: patches });
  const path = "spec.patchPodMetadata: Required value";
  t.equal(complaints(patching({ annotations: {} })), `${path}: no annotations defined for SidecarSet`);
  t.equal(
    complaints(patching({ annotations: { k: "1" } }, { annotations: { k: "2" } })),
    `${path}: patch annotation[k] already exist`,
  );
  t.match(complaints(patching({ annotations: { "a b": "1" } })), /^patchPodMetadata\.annotations: /);
  const allowing = (text: string | undefined, allowedByDefault = false) =>
    complaints(patching({ annotations: { "oom-score": "1" } }), undefined, {
      whitelist: { text, allowedByDefault },
    });
  const rules = (...exprs: string[]) => JSON.stringify({ rules: [{ allowedAnnotationKeyExprs: exprs }] });
  t.equal(allowing(undefined), `${path}: SidecarSet patch metadata whitelist not found`);
  t.equal(allowing(undefined, true), "");
  t.equal(allowing("{}"), `${path}: sidecarSet patch metadata annotation is not allowed`);
  t.equal(allowing("{}", true), "");
  t.equal(allowing(rules("^oom-score$")), "");
  t.equal(allowing(rules("score")), "", "not anchored");
  t.equal(
    allowing(rules("^other$"), true),
    `${path}: sidecarSet patch metadata annotation(oom-score) is not allowed`,
    "expressions bind also with the gate",
  );
  const others = { selector: { matchLabels: { a: "b" } }, allowedAnnotationKeyExprs: [".*"] };
  t.equal(
    allowing(JSON.stringify({ rules: [others] })),
    `${path}: sidecarSet patch metadata annotation is not allowed`,
    "a rule for other SidecarSets",
  );
  for (const broken of ["{", rules("("), '{"rules":[{"selector":{"matchLabels":{"?":"a"}}}]}'])
    t.match(allowing(broken), "SidecarSet patch metadata whitelist cannot be read: ", broken);
});

t.test("a canary and its base", async (t) => {
  const canary = (base: string, spec: JsonObject = { updateStrategy: { type: "NotUpdate" } }) =>
    raw(spec, {
      annotations: {
        "apps.kruise.io/sidecarset-canary": "true",
        "apps.kruise.io/sidecarset-base": base,
      },
    });
  const base = { metadata: { name: "base" }, spec: {} };
  const other = {
    metadata: { name: "other", annotations: Object(canary("base")["metadata"]).annotations },
    spec: {},
  };
  const check = (next: JsonObject, old?: JsonObject) => complaints(next, old, { stored: [base, other] });
  const refused = (words: string) => new RegExp(`^metadata: Invalid value: \\{.*\\}: ${words}$`);
  t.equal(check(canary("base")), "");
  t.match(check(canary("mesh")), refused("base sidecarSet cannot be itself"));
  t.match(
    check(canary("gone")),
    refused('fetch base sidecarSet\\[gone\\] failed: SidecarSet\\.apps\\.kruise\\.io "gone" not found'),
  );
  t.match(check(canary("other")), refused("base sidecarSet cannot be canary"));
  t.match(check(canary("base", {})), refused("RollingUpdate is not supported for canary sidecarSet"));
  const odd = canary("base", { updateStrategy: { type: "Odd" } });
  t.match(check(odd), refused("RollingUpdate is not supported for canary sidecarSet"));
  t.equal(check(odd, odd), "", "what is stored may stay");
  t.match(
    check(canary("base"), canary("gone")),
    refused("annotations\\[apps\\.kruise\\.io/sidecarset-base\\] is immutable"),
  );
});

t.test("changes of containers", async (t) => {
  const two = [main, { name: "b", image: "b" }];
  t.equal(complaints(raw({ containers: [main] }), raw({ containers: two })), "", "one is removed");
  t.equal(
    complaints(raw({ containers: two }), raw({})),
    'spec.containers.name: Invalid value: "b": container b is not found',
  );
  const hot = { upgradeType: "HotUpgrade", hotUpgradeEmptyImage: "e" };
  t.equal(
    complaints(raw({ containers: [{ ...main, upgradeStrategy: hot }] }), raw({})),
    'spec.containers.upgradeStrategy.upgradeType: Invalid value: "side": container side upgradeType is immutable',
  );
});

t.test("conflicts are looked for last", async (t) => {
  const other = {
    metadata: { name: "other" },
    spec: { selector: { matchLabels: { app: "a" } }, containers: [main] },
  };
  const conflict = 'spec.containers: Invalid value: "side": container side already exist in other';
  t.equal(complaints(raw({}), undefined, { stored: [other] }), conflict);
  t.notMatch(complaints(raw({ selector: {} }), undefined, { stored: [other] }), "already exist");
});

t.test("a conflict that is stored already is no reason to refuse another change", async (t) => {
  const rival = { metadata: { name: "rival" }, spec: Object(raw({})["spec"]) };
  const check = (next: JsonObject, old?: JsonObject) => complaints(next, old, { stored: [rival] });
  t.match(check(raw({})), /already exist in rival/);
  t.equal(check(raw({ updateStrategy: { type: "NotUpdate" } }), raw({})), "");
  const apart = raw({ selector: { matchLabels: { app: "elsewhere" } } });
  t.equal(check(apart), "");
  t.match(check(raw({}), apart), /already exist in rival/);
});

const canaryOf = (base: string) => ({
  "apps.kruise.io/sidecarset-canary": "true",
  "apps.kruise.io/sidecarset-base": base,
});

t.test("what is wrong with the stored object excuses nothing that comes to it", async (t) => {
  const rival = { metadata: { name: "rival" }, spec: Object(raw({ volumes: [] })["spec"]) };
  const check = (next: JsonObject, old: JsonObject) => complaints(next, old, { stored: [rival] });
  const apart = { selector: { matchLabels: { app: "elsewhere" } }, updateStrategy: { partition: "x" } };
  t.equal(check(raw(apart, { labels: { more: "label" } }), raw(apart)), "");
  t.match(
    check(raw({ updateStrategy: { partition: "x" } }), raw(apart)),
    /already exist in rival/,
    "a conflict",
  );

  const native = (name: string) => ({ ...main, name, restartPolicy: "Always" });
  const inits = (...names: string[]) => raw({ initContainers: names.map(native) });
  t.equal(complaints(inits("a"), inits("a")), "");
  t.match(complaints(inits("a", "b"), inits("a")), "in-place upgrade", "one more of the same");

  const orphan = (type: string) => raw({ updateStrategy: { type } }, { annotations: canaryOf("gone") });
  t.equal(complaints(orphan("NotUpdate"), orphan("NotUpdate")), "", "a canary whose base has gone");
  t.match(complaints(orphan("RollingUpdate"), orphan("NotUpdate")), "RollingUpdate is not supported");
});

t.test("the whitelist is asked about annotations that an update adds", async (t) => {
  const patching = (...keys: string[]) =>
    raw({
      patchPodMetadata: keys.map((key) => ({ annotations: { [key]: "1" }, patchPolicy: "Overwrite" })),
    });
  const rules = JSON.stringify({ rules: [{ allowedAnnotationKeyExprs: ["^listed$"] }] });
  for (const text of [undefined, '{"rules":[]}', "{", rules]) {
    const whitelist = { text, allowedByDefault: false };
    const check = (next: JsonObject, old?: JsonObject) => complaints(next, old, { whitelist });
    t.not(check(patching("old")), "", "created");
    t.equal(check(patching("old"), patching("old")), "", "stored");
    t.match(
      check(patching("old", "new"), patching("old")),
      "spec.patchPodMetadata: Required value",
      `one more with ${text}`,
    );
  }
});
