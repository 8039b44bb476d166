/** PersistentPodState between its versions: a renamed field, nothing lost. Spec: persistentpodstate 1. */
import type { JsonObject } from "../../kube/core/index.ts";
import { type Conversion, conversionOf, renamedList, within, withinEach } from "../members.ts";

export const convertPersistentPodState: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => converted(object, "nodeTopologyKeys", "keys"),
  toV1alpha1: (object) => converted(object, "keys", "nodeTopologyKeys"),
});

function converted(object: JsonObject, from: string, to: string): JsonObject {
  const term = (value: JsonObject) => renamedList(value, from, to);
  return within(object, "spec", (spec) =>
    withinEach(within(spec, "requiredPersistentTopology", term), "preferredPersistentTopology", (preferred) =>
      within(preferred, "preference", term),
    ),
  );
}
