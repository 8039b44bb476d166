/** Advanced StatefulSet between its versions. Spec: statefulset 1. */
import { type Conversion, conversionOf, within, without } from "../members.ts";

const specOfV1beta1 = [
  "lifecycle",
  "ordinals",
  "persistentVolumeClaimRetentionPolicy",
  "reserveOrdinals",
  "scaleStrategy",
  "volumeClaimUpdateStrategy",
];
const statusOfV1beta1 = ["updatedAvailableReplicas", "updatedReadyReplicas", "volumeClaims"];

/** Towards v1alpha1 all fields that only v1beta1 has are lost; nothing keeps them. */
export const convertStatefulSet: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => object,
  toV1alpha1: (object) =>
    within(
      within(object, "spec", (spec) => without(spec, specOfV1beta1)),
      "status",
      (status) => without(status, statusOfV1beta1),
    ),
});
