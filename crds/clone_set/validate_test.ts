import fc from "fast-check";
import t from "tap";
import { cloneJson, formatFieldErrors, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { defaultCloneSet } from "./default.ts";
import type { DecodedCloneSet } from "./schema.ts";
import { cloneSet } from "./schema.ts";
import { type FoundPod, newPodsToDelete, validateCloneSet } from "./validate.ts";

type Version = "v1alpha1" | "v1beta1";

function raw(version: Version, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "CloneSet",
    metadata: { name: "sample", namespace: "default", uid: "uid-1", ...metadata },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "main", image: "nginx:1" }] },
      },
      ...spec,
    },
  };
}

function decoded(object: JsonObject): DecodedCloneSet {
  const result = cloneSet.read(object);
  if ("errors" in result) throw new Error(formatFieldErrors(result.errors));
  return result;
}

const defaulting = { templateDefaults: true, hostNetworkPorts: false };

function complaints(object: JsonObject, old?: JsonObject, pods: Record<string, FoundPod> = {}): string {
  const next = decoded(defaultCloneSet(object, defaulting));
  const before = old === undefined ? undefined : decoded(defaultCloneSet(old, defaulting));
  return formatFieldErrors(
    validateCloneSet(next, before, { allowPrivileged: true, findPod: (name) => pods[name] }),
  );
}

const alpha = (updateStrategy: JsonObject, spec: JsonObject = {}) =>
  raw("v1alpha1", { updateStrategy, ...spec });
const beta = (rollingUpdate: JsonObject, spec: JsonObject = {}) =>
  raw("v1beta1", { updateStrategy: { type: "RollingUpdate", rollingUpdate }, ...spec });

for (const version of ["v1alpha1", "v1beta1"] as const) {
  t.test(`${version}: a plain object is accepted, as new and as its own update`, async (t) => {
    t.equal(complaints(raw(version)), "");
    t.equal(complaints(raw(version), raw(version)), "");
  });

  t.test(`${version}: selector and template must fit`, async (t) => {
    const other = { matchLabels: { app: "other" } };
    t.match(
      complaints(raw(version, { selector: other })),
      /^spec\.template\.metadata\.labels: Invalid value: .*`selector` does not match template `labels`/,
    );
    t.match(
      complaints(raw(version, { selector: {} })),
      /spec\.selector: Invalid value: .*empty selector is invalid for cloneset/,
    );
    t.match(complaints(raw(version, { selector: null })), /spec\.selector: Required value/);
    t.match(
      complaints(raw(version, { selector: { matchLabels: { "-bad-": "x" } } })),
      /spec\.selector\.matchLabels: Invalid value/,
    );
  });

  t.test(`${version}: numbers must not be negative`, async (t) => {
    for (const field of ["replicas", "minReadySeconds", "revisionHistoryLimit"]) {
      t.match(
        complaints(raw(version, { [field]: -1 })),
        `spec.${field}: Invalid value: -1: must be greater than or equal to 0`,
      );
    }
  });

  t.test(`${version}: a negative history limit that was stored elsewhere may stay`, async (t) => {
    t.equal(
      complaints(
        raw(version, { revisionHistoryLimit: -1, replicas: 2 }),
        raw(version, { revisionHistoryLimit: -1 }),
      ),
      "",
    );
  });

  t.test(`${version}: restart policy and deadline of the template`, async (t) => {
    const { template } = Object(raw(version)["spec"]);
    const never = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
    t.match(
      complaints(raw(version, { template: never })),
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    );
    const deadline = { ...template, spec: { ...template.spec, activeDeadlineSeconds: 5 } };
    t.match(
      complaints(raw(version, { template: deadline })),
      "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in cloneset is not Supported",
    );
  });

  t.test(`${version}: the selector cannot change, the rest can`, async (t) => {
    const selector = { matchExpressions: [{ key: "app", operator: "Exists" }] };
    t.match(
      complaints(raw(version, { selector }), raw(version)),
      /^spec: Forbidden: updates to cloneset spec for fields other than 'replicas', 'template', 'lifecycle', 'scaleStrategy', 'updateStrategy', 'minReadySeconds', 'progressDeadlineSeconds', 'volumeClaimTemplates' and 'revisionHistoryLimit' are forbidden$/,
    );
    const { template } = Object(raw(version)["spec"]);
    const changed = raw(version, {
      replicas: 3,
      minReadySeconds: 2,
      revisionHistoryLimit: 1,
      template: { ...template, spec: { ...template.spec, containers: [{ name: "main", image: "b" }] } },
    });
    t.equal(complaints(changed, raw(version)), "");
  });

  t.test(`${version}: duplicated names of pods to delete`, async (t) => {
    const scaleStrategy = { podsToDelete: ["a", "b", "a"] };
    t.match(
      complaints(raw(version, { scaleStrategy }), raw(version)),
      /spec\.scaleStrategy\.podsToDelete: Invalid value: .*: duplicated items \[a\]/,
    );
  });

  t.test(`${version}: the progress deadline lies after minReadySeconds, in v1alpha1`, async (t) => {
    const seconds = fc.oneof(fc.integer({ min: -2, max: 12 }), fc.constant(2147483647));
    fc.assert(
      fc.property(
        seconds,
        seconds,
        fc.nat(10),
        fc.boolean(),
        (deadline, former, minReadySeconds, isUpdate) => {
          const object = (progressDeadlineSeconds: number) =>
            raw(version, { progressDeadlineSeconds, minReadySeconds });
          const said = complaints(object(deadline), isUpdate ? object(former) : undefined);
          const isNegative = deadline < 0;
          const isEarly = deadline !== 2147483647 && deadline <= minReadySeconds;
          const path = `spec.progressDeadlineSeconds: Invalid value: ${deadline}: must be greater than`;
          const isRefused = version === "v1alpha1";
          t.equal(said.includes(`${path} or equal to 0`), isRefused && isNegative);
          t.equal(said.includes(`${path} minReadySeconds`), isRefused && isEarly);
          t.equal(said === "", !isRefused || !(isNegative || isEarly), said);
        },
      ),
      { numRuns: 300, seed: 23 },
    );
  });

  const rollout = version === "v1alpha1" ? alpha : beta;
  const path = version === "v1alpha1" ? "spec.updateStrategy" : "spec.updateStrategy.rollingUpdate";

  t.test(`${version}: amounts must be readable`, async (t) => {
    t.match(
      complaints(rollout({ partition: "5" })),
      `${path}.partition: Invalid value: "5": failed GetScaledValueFromIntOrPercent for partition: `,
    );
    t.match(complaints(rollout({ partition: "5" })), /invalid type: string is not a percentage/);
    t.match(
      complaints(rollout({ partition: -1 })),
      `${path}.partition: Invalid value: -1: must be greater than or equal to 0`,
    );
    t.equal(complaints(rollout({ partition: "33.3%" })), "");
    t.equal(complaints(rollout({ maxUnavailable: "33.3%", maxSurge: "0.5%" })), "");
    t.equal(complaints(raw(version, { scaleStrategy: { maxUnavailable: "12.5%" } })), "");
    t.match(
      complaints(rollout({ maxUnavailable: "x%" })),
      `${path}.maxUnavailable: Invalid value: "x%": failed GetScaledValueFromIntOrPercent for maxUnavailable`,
    );
    t.match(
      complaints(rollout({ maxSurge: "1" })),
      `${path}.maxSurge: Invalid value: "1": failed GetScaledValueFromIntOrPercent for maxSurge`,
    );
  });

  t.test(`${version}: some pod must be allowed to go or to come`, async (t) => {
    const none = { maxUnavailable: 0, maxSurge: 0 };
    t.match(
      complaints(rollout(none, { replicas: 3 })),
      `${path}.maxUnavailable: Invalid value: 0: maxUnavailable and maxSurge should not both be less than 1`,
    );
    t.equal(complaints(rollout(none, { replicas: 0 })), "");
    t.equal(complaints(rollout({ maxUnavailable: 0, maxSurge: 1 }, { replicas: 5 })), "");
  });

  t.test(`${version}: order of the update`, async (t) => {
    const weight = { weight: 0, matchSelector: { matchLabels: { a: "b" } } };
    const order = { orderedKey: "k" };
    const priority = (priorityStrategy: JsonObject) => complaints(rollout({ priorityStrategy }));
    t.equal(priority({ weightPriority: [weight] }), "");
    t.match(
      priority({ weightPriority: [weight], orderPriority: [order] }),
      `${path}.priorityStrategy: Required value: only one of weightPriority and orderPriority can be used`,
    );
    t.match(
      priority({ weightPriority: [{ ...weight, weight: 101 }] }),
      "Required value: weight must be valid number in the range 1-100",
    );
    t.match(
      priority({ weightPriority: [{ weight: 1, matchSelector: {} }] }),
      "Required value: selector can not be empty",
    );
    t.match(
      priority({ weightPriority: [{ weight: 1, matchSelector: { matchLabels: { a: "-" } } }] }),
      "Required value: invalid selector ",
    );
    t.match(priority({ orderPriority: [{ orderedKey: "" }] }), "Required value: order key can not be empty");
    t.match(
      complaints(rollout({ scatterStrategy: [{ key: "", value: "" }] })),
      "Required value: key should not be empty",
    );
    const pair = { key: "k", value: "v" };
    t.match(
      complaints(rollout({ scatterStrategy: [pair, pair] })),
      `${path}.scatterStrategy[1]: Required value: duplicated key=k value=v`,
    );
  });
}

t.test("the template is checked as a pod's", async (t) => {
  const container = { name: "main", image: "nginx:1", securityContext: { privileged: true } };
  const object = (spec: JsonObject) =>
    raw("v1beta1", { template: { metadata: { labels: { app: "a" } }, spec } });
  t.match(complaints(object({ containers: [] })), "spec.template.spec.containers: Required value");
  t.match(
    complaints(object({ containers: [{ name: "A B", image: "x" }] })),
    /spec\.template\.spec\.containers\[0\]\.name: Invalid value: "A B"/,
  );
  const mounts = [{ name: "data", mountPath: "/data" }];
  const mounting = { containers: [{ name: "main", image: "x", volumeMounts: mounts }] };
  t.match(complaints(object(mounting)), /volumeMounts\[0\]\.name: Not found: "data"/);
  const claims = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];
  const { template } = Object(object(mounting)["spec"]);
  t.equal(complaints(raw("v1beta1", { template, volumeClaimTemplates: claims })), "");
  t.equal(complaints(object({ containers: [container] })), "");
  const next = decoded(defaultCloneSet(object({ containers: [container] }), defaulting));
  const errors = validateCloneSet(next, undefined, { allowPrivileged: false, findPod: () => undefined });
  t.equal(
    formatFieldErrors(errors),
    "spec.template.spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy",
  );
});

t.test("claims have names that volumes may have", async (t) => {
  const named = (name?: string) =>
    raw("v1beta1", { volumeClaimTemplates: [{ metadata: name === undefined ? {} : { name } }] });
  t.equal(complaints(named("data")), "");
  t.equal(complaints(named()), "spec.volumeClaimTemplates[0].metadata.name: Required value");
  t.match(
    complaints(named("D_x")),
    /^spec\.volumeClaimTemplates\[0\]\.metadata\.name: Invalid value: "D_x": a lowercase RFC 1123 label/,
  );
  t.equal(complaints(named("D_x"), named("D_x")), "", "what is stored may stay");
});

t.test("the words for a surge with InPlaceOnly differ", async (t) => {
  t.match(
    complaints(alpha({ type: "InPlaceOnly", maxSurge: 1 })),
    "spec.updateStrategy.maxSurge: Invalid value: 1: can not use maxSurge with strategy type InPlaceOnly",
  );
  t.match(
    complaints(beta({ podUpdatePolicy: "InPlaceOnly", maxSurge: "10%" })),
    "can not use maxSurge with podUpdatePolicy InPlaceOnly",
  );
});

t.test("types that a version does not know are refused", async (t) => {
  t.match(
    complaints(alpha({ type: "OnDelete" })),
    "spec.updateStrategy.type: Invalid value: \"OnDelete\": must be 'ReCreate', InPlaceIfPossible or 'InPlaceOnly'",
  );
  t.match(
    complaints(raw("v1beta1", { updateStrategy: { type: "ReCreate" } })),
    "spec.updateStrategy.type: Invalid value: \"ReCreate\": must be 'RollingUpdate' or 'OnDelete'",
  );
  t.match(
    complaints(beta({ podUpdatePolicy: "Other" })),
    "podUpdatePolicy: Invalid value: \"Other\": must be 'ReCreate', 'InPlaceIfPossible' or 'InPlaceOnly'",
  );
  t.equal(complaints(raw("v1beta1", { updateStrategy: { type: "OnDelete" } })), "");
});

t.test("OnDelete with part of the rollout settings is refused", async (t) => {
  const text = complaints(
    raw("v1beta1", { updateStrategy: { type: "OnDelete", rollingUpdate: { maxSurge: 0 } } }),
  );
  t.match(text, "failed GetScaledValueFromIntOrPercent for partition: nil value for IntOrString");
  t.match(text, "maxUnavailable and maxSurge should not both be less than 1");
});

t.test("pre-download settings of v1beta1", async (t) => {
  const settings = (inPlaceUpdateStrategy: JsonObject) => complaints(beta({ inPlaceUpdateStrategy }));
  t.equal(settings({ imagePreDownloadParallelism: "3", imagePreDownloadTimeoutSeconds: 0 }), "");
  t.match(
    settings({ imagePreDownloadParallelism: "3%" }),
    "imagePreDownloadParallelism does not support percentage value",
  );
  t.match(
    settings({ imagePreDownloadParallelism: "x" }),
    /imagePreDownloadParallelism must be a valid integer: .*invalid syntax/,
  );
  t.match(settings({ imagePreDownloadParallelism: -2 }), "imagePreDownloadParallelism must be non-negative");
  t.match(
    settings({ imagePreDownloadTimeoutSeconds: -1 }),
    "imagePreDownloadTimeoutSeconds: Invalid value: -1",
  );
  t.match(settings({ gracePeriodSeconds: -1 }), "gracePeriodSeconds: Invalid value: -1");
});

t.test("v1alpha1 looks up the pods that were added to podsToDelete", async (t) => {
  const pods = {
    mine: { ownerUid: "uid-1", terminating: false },
    going: { ownerUid: "uid-1", terminating: true },
    foreign: { ownerUid: "uid-2", terminating: false },
  };
  const object = (...podsToDelete: string[]) => raw("v1alpha1", { scaleStrategy: { podsToDelete } });
  t.equal(complaints(object("mine"), object(), pods), "");
  t.match(
    complaints(object("no-such-pod"), object(), pods),
    'find pod no-such-pod failed: Pod "no-such-pod" not found',
  );
  t.match(complaints(object("going"), object(), pods), "find pod going already terminating");
  t.match(complaints(object("foreign"), object(), pods), "find pod foreign owner is not this CloneSet");
  t.equal(
    complaints(object("no-such-pod"), object("no-such-pod"), pods),
    "",
    "names that were listed before are not looked up",
  );
  t.strictSame(newPodsToDelete(decoded(object("a", "b", "a")), decoded(object("b"))), ["a"]);
  t.strictSame(
    newPodsToDelete(decoded(raw("v1beta1", { scaleStrategy: { podsToDelete: ["a"] } })), undefined),
    [],
  );
});

t.test("InPlaceOnly through v1alpha1 lets only images change in the template's spec", async (t) => {
  const object = (change: (container: JsonObject, template: JsonObject) => void) => {
    const container: JsonObject = { name: "main", image: "nginx:1", env: [{ name: "MODE", value: "first" }] };
    const template: JsonObject = { metadata: { labels: { app: "a" } }, spec: { containers: [container] } };
    change(container, template);
    return alpha({ type: "InPlaceOnly", maxUnavailable: 1 }, { template });
  };
  const old = object(() => undefined);
  const words = "spec: Forbidden: only allowed to update images in spec for InPlaceOnly, but found ";
  const env = object((container) => {
    container["env"] = [{ name: "MODE", value: "second" }];
  });
  t.equal(complaints(env, old), `${words}replace /containers/0/env/0/value`);
  t.equal(
    complaints(
      object((container) => Object.assign(container, { image: "nginx:2" })),
      old,
    ),
    "",
  );
  t.equal(
    complaints(
      object((_, template) => Object.assign(template, { metadata: { labels: { app: "a", extra: "1" } } })),
      old,
    ),
    "",
  );
  t.match(
    complaints(
      object((container) => Object.assign(container, { tty: true })),
      old,
    ),
    `${words}add /containers/0/tty`,
  );
});

t.test("validation never throws, whatever decodes", async (t) => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const amount = fc.oneof(fc.integer(), fc.string(), value);
  const strategy = fc.record(
    {
      type: fc.constantFrom("ReCreate", "InPlaceOnly", "OnDelete", "RollingUpdate", ""),
      partition: amount,
      maxSurge: amount,
      maxUnavailable: amount,
      scatterStrategy: fc.oneof(
        value,
        fc.array(fc.record({ key: fc.string(), value: fc.string() }, { requiredKeys: [] })),
      ),
      priorityStrategy: value,
      rollingUpdate: fc.record(
        { podUpdatePolicy: fc.string(), partition: amount, inPlaceUpdateStrategy: value },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const spec = fc.record(
    {
      selector: fc.oneof(
        value,
        fc.constant({ matchLabels: { app: "a" } }),
        fc.constant({ matchExpressions: [{}] }),
      ),
      template: fc.oneof(
        value,
        fc.constant({ spec: {} }),
        fc.record({ metadata: value, spec: value }, { requiredKeys: [] }),
      ),
      replicas: fc.oneof(fc.integer(), value),
      scaleStrategy: fc.oneof(
        value,
        fc.record({ podsToDelete: fc.array(fc.string()), maxUnavailable: amount }),
      ),
      updateStrategy: fc.oneof(value, strategy),
      lifecycle: value,
      volumeClaimTemplates: fc.oneof(value, fc.array(value)),
    },
    { requiredKeys: [] },
  );
  const object = fc.record({
    apiVersion: fc.constantFrom("apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1"),
    metadata: fc.oneof(value, fc.record({ name: fc.string() })),
    spec: fc.oneof(value, spec),
  });
  let checked = 0;
  fc.assert(
    fc.property(object, object, (next, old) => {
      const [left, right] = [cloneSet.read(cloneJson<unknown>(next)), cloneSet.read(cloneJson<unknown>(old))];
      if ("errors" in left) return t.ok(left.errors.length > 0);
      checked++;
      const before = "errors" in right || right.version !== left.version ? undefined : right;
      const errors = validateCloneSet(left, before, { allowPrivileged: false, findPod: () => undefined });
      return t.ok(errors.every((error) => typeof error.path === "string" && isJsonObject(error)));
    }),
    { seed: 23, numRuns: 1500 },
  );
  t.ok(checked > 30, `only ${checked} objects decoded`);
});

t.test("any JSON decodes or is refused with reasons", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      try {
        const result = cloneSet.read(value);
        t.ok("errors" in result && result.errors.length > 0);
      } catch (error) {
        t.match(error, { code: "UnsupportedVersion" });
      }
    }),
    { seed: 24, numRuns: 300 },
  );
});
