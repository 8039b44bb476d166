/** What admission fills into a DaemonSet, and what it refuses, by its exact words. Spec: daemonset 6. */
import t from "tap";
import { formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { defaultDaemonSet } from "./default.ts";
import type { DecodedDaemonSet } from "./schema.ts";
import { daemonSet } from "./schema.ts";
import { validateDaemonSet } from "./validate.ts";

type Version = "v1alpha1" | "v1beta1";
const both = ["v1alpha1", "v1beta1"] as const;

function raw(version: Version, spec: JsonObject = {}, name = "nginx"): JsonObject {
  return {
    apiVersion: `apps.kruise.io/${version}`,
    kind: "DaemonSet",
    metadata: { name, namespace: "default" },
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

const rolling = (version: Version, rollingUpdate: JsonObject, more: JsonObject = {}) =>
  raw(version, { updateStrategy: { type: "RollingUpdate", rollingUpdate }, ...more });

function decoded(object: JsonObject): DecodedDaemonSet {
  const result = daemonSet.read(object);
  if ("errors" in result) throw new Error(formatFieldErrors(result.errors));
  return result;
}

function complaints(object: JsonObject, old?: JsonObject): string {
  const before = old === undefined ? undefined : decoded(defaultDaemonSet(old));
  const next = decoded(defaultDaemonSet(object));
  return formatFieldErrors(validateDaemonSet(next, before, { hostNetworkPorts: false }));
}

const specOf = (object: JsonObject) => defaultDaemonSet(object)["spec"];

for (const version of both) {
  t.test(`${version}: defaults`, async (t) => {
    t.match(specOf(raw(version)), {
      burstReplicas: 250,
      revisionHistoryLimit: 10,
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { rollingUpdateType: "Standard", maxUnavailable: 1, maxSurge: 0 },
      },
    });
    t.strictSame(
      specOf(raw(version)),
      { ...Object(specOf(raw(version))), template: Object(raw(version)["spec"]).template },
      "the template stays as written",
    );
    const onDelete = raw(version, { updateStrategy: { type: "OnDelete" } });
    t.strictSame(Object(specOf(onDelete)).updateStrategy, { type: "OnDelete" });
    const one = Object(specOf(rolling(version, { maxUnavailable: 2 }))).updateStrategy.rollingUpdate;
    t.strictSame(one, { maxUnavailable: 2, rollingUpdateType: "Standard" }, "the other limit stays unset");
    const again = defaultDaemonSet(defaultDaemonSet(raw(version)));
    t.strictSame(again, defaultDaemonSet(raw(version)));
  });

  t.test(`${version}: what is accepted`, async (t) => {
    t.equal(complaints(raw(version)), "");
    t.equal(complaints(raw(version), raw(version)), "");
    t.equal(complaints(rolling(version, { maxSurge: "30%" })), "");
    t.equal(complaints(rolling(version, { maxUnavailable: 0, maxSurge: 1 })), "");
    t.equal(complaints(rolling(version, { partition: "100%", paused: true })), "");
    t.equal(complaints(rolling(version, { rollingUpdateType: "InPlaceIfPossible" })), "");
    t.equal(complaints(raw(version, { burstReplicas: "any" })), "", "not validated");
  });

  t.test(`${version}: limits`, async (t) => {
    const path = "spec.updateStrategy.rollingUpdate";
    t.equal(
      complaints(rolling(version, { maxUnavailable: 0 })),
      `${path}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
    );
    t.equal(
      complaints(rolling(version, { maxUnavailable: 1, maxSurge: 1 })),
      `${path}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero`,
    );
    t.equal(
      complaints(rolling(version, { maxUnavailable: "101%" })),
      `${path}.maxUnavailable: Invalid value: "101%": must not be greater than 100%`,
    );
    t.match(complaints(rolling(version, { maxUnavailable: "5" })), /a valid percent string must be/);
    t.match(complaints(rolling(version, { maxUnavailable: -1 })), /must be greater than or equal to 0/);
    t.equal(
      complaints(
        rolling(version, { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 1, maxSurge: 1 }),
      ),
      `[${path}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero, ` +
        `${path}.maxSurge: Required value: must be 0 for InPlaceIfPossible type]`,
    );
    t.equal(
      complaints(
        rolling(version, { rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 0, maxSurge: 1 }),
      ),
      `${path}.maxSurge: Required value: must be 0 for InPlaceIfPossible type`,
    );
    t.equal(
      complaints(rolling(version, { partition: -1 })),
      `${path}.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0`,
    );
    t.match(complaints(rolling(version, { partition: "x%" })), /rollingUpdate\.rollingUpdate\.partition/);
    t.match(
      complaints(rolling(version, { selector: { matchLabels: { "a b": "c" } } })),
      /^spec\.updateStrategy\.rollingUpdate\.selector/,
    );
    t.match(
      complaints(raw(version, { updateStrategy: { type: "Recreate" } })),
      /^spec\.updateStrategy: Unsupported value: .*: supported values: "RollingUpdate", "OnDelete"$/,
    );
  });

  t.test(`${version}: the rest of the spec`, async (t) => {
    t.match(
      complaints(raw(version, { selector: {} })),
      /spec\.selector: Invalid value: \{\}: empty selector is invalid for daemonset/,
    );
    t.match(
      complaints(raw(version, { selector: { matchLabels: { app: "b" } } })),
      /^spec\.template\.metadata\.labels: Invalid value: \{"app":"a"\}: `selector` does not match template `labels`$/,
    );
    const pod = { containers: [{ name: "main", image: "nginx:1" }], restartPolicy: "Never" };
    const template = { metadata: { labels: { app: "a" } }, spec: pod };
    t.equal(
      complaints(raw(version, { template })),
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    );
    t.match(
      complaints(
        raw(version, {
          template: { ...template, spec: { containers: pod.containers, activeDeadlineSeconds: 5 } },
        }),
      ),
      /spec\.template\.spec\.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported/,
    );
    t.equal(
      complaints(raw(version, { lifecycle: { inPlaceUpdate: { labelsHandler: { a: "b" } } } })),
      "spec.lifecycle.inPlaceUpdate: Forbidden: inPlaceUpdate hook has not supported yet",
    );
    t.match(complaints(raw(version, { minReadySeconds: -1 })), /^spec\.minReadySeconds: Invalid value: -1/);
    t.match(complaints(raw(version, { revisionHistoryLimit: -1 })), /^spec\.revisionHistoryLimit/);
    t.match(complaints(raw(version, {}, "Big")), /^metadata\.name: Invalid value: "Big"/);
  });
}

t.test("Surging", async (t) => {
  const surging = rolling("v1alpha1", { rollingUpdateType: "Surging" });
  t.strictSame(Object(specOf(surging)).updateStrategy.rollingUpdate, {
    rollingUpdateType: "Standard",
    maxSurge: 1,
    maxUnavailable: 0,
  });
  t.equal(complaints(surging), "");
  t.equal(
    complaints(rolling("v1beta1", { rollingUpdateType: "Surging" })),
    'spec.updateStrategy.rollingUpdate.rollingUpdate.type: Unsupported value: "Surging": supported values: "Standard", "InPlaceIfPossible"',
  );
});

t.test("only some fields may change", async (t) => {
  const labels = { app: "a", more: "b" };
  const changed = (version: Version) => {
    const spec = Object(raw(version)["spec"]);
    return raw(version, {
      selector: { matchLabels: labels },
      template: { ...spec.template, metadata: { labels } },
    });
  };
  t.equal(
    complaints(changed("v1alpha1"), raw("v1alpha1")),
    "spec: Forbidden: updates to daemonset spec for fields other than 'BurstReplicas', 'template', 'lifecycle',  'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden",
  );
  t.equal(
    complaints(changed("v1beta1"), raw("v1beta1")),
    "spec: Forbidden: updates to daemonset spec for fields other than 'BurstReplicas', 'template', 'lifecycle', 'scaleStrategy', 'updateStrategy', 'minReadySeconds', and 'revisionHistoryLimit' are forbidden",
  );
});
