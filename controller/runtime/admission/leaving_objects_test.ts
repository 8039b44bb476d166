/** An object on its way out may lose its finalizers, whatever the gates say and whatever is wrong with it: every kind of the list. */
import t from "tap";
import type { JsonObject } from "../../../kube/core/index.ts";
import { admissionRequest } from "../../../testkit/controller/admission_builder.ts";
import { handlersOf, type ListedKind, withGates } from "../../../testkit/controller/kind_admission.ts";
import { gatedObjects, minimalObjects } from "../../../testkit/controller/minimal_objects.ts";
import { kinds } from "../../kinds.ts";
import { featureGateNames } from "../feature_gates.ts";

const closed = withGates(featureGateNames.map((name) => `${name}=false`).join());
const deletionTimestamp = "2026-01-01T00:00:00Z";

function objectOf({ resource: { kind, group, version } }: ListedKind, spec: unknown, metadata = {}) {
  const known = [...minimalObjects, ...gatedObjects].find((sample) => sample.kind === kind);
  const [, served = version] = known?.resource.split(".") ?? [];
  return {
    apiVersion: `${group}/${served}`,
    kind,
    metadata: { name: "sample", ...metadata },
    spec: spec ?? known?.spec ?? {},
  };
}

for (const kind of kinds) {
  const { kind: name } = kind.resource;
  t.test(name, async (t) => {
    for (const phase of ["mutating", "validating"] as const) {
      for (const handler of handlersOf(kind, phase, closed)) {
        for (const spec of [undefined, "not an object"]) {
          const finalizers = ["foregroundDeletion"];
          const stored: JsonObject = objectOf(kind, spec, { finalizers, deletionTimestamp });
          const released: JsonObject = objectOf(kind, spec, { deletionTimestamp });
          t.match(
            await handler(admissionRequest({ object: released, oldObject: stored })),
            { allowed: true },
            `${phase} ${spec}`,
          );
        }
        const created = await handler(admissionRequest({ object: objectOf(kind, "not an object") }));
        t.match(created, { allowed: false }, "the mistake is one");
      }
    }
  });
}
