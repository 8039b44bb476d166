/** Advanced DaemonSet between its versions. Spec: daemonset 7. */
import { own } from "../../kube/core/index.ts";
import {
  type Conversion,
  conversionOf,
  member,
  metadataMap,
  renamed,
  within,
  withMetadataMap,
  without,
} from "../members.ts";

/** Value "true": pods are created in portions. Field `scaleStrategy.partitionedScaling` of v1beta1. */
export const progressiveCreateAnnotation = "daemonset.kruise.io/progressive-create-pod";

/**
 * The annotation stays in v1beta1, so that `partitionedScaling: false` set there is turned on again by the next write
 * through v1alpha1. The rolling type Surging becomes Standard and stays it.
 */
export const convertDaemonSet: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => {
    const progressive = own(metadataMap(object, "annotations"), progressiveCreateAnnotation) === "true";
    const converted = within(object, "spec", (spec) => ({
      ...within(without(spec, ["scaleStrategy"]), "updateStrategy", (strategy) =>
        within(strategy, "rollingUpdate", (rolling) =>
          rolling["rollingUpdateType"] === "Surging"
            ? { ...rolling, rollingUpdateType: "Standard" }
            : rolling,
        ),
      ),
      ...(progressive ? { scaleStrategy: { partitionedScaling: true } } : {}),
    }));
    return within(converted, "status", (status) => renamed(status, "daemonSetHash", "updateRevision"));
  },
  toV1alpha1: (object) => {
    const scaling = member(member(object, "spec"), "scaleStrategy");
    const converted = within(
      within(object, "spec", (spec) => without(spec, ["scaleStrategy"])),
      "status",
      (status) => renamed(status, "updateRevision", "daemonSetHash"),
    );
    if (scaling["partitionedScaling"] !== true) return converted;
    return withMetadataMap(converted, "annotations", { [progressiveCreateAnnotation]: "true" });
  },
});
