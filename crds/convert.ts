/** Conversion of any kind of this API between its versions: what `/convert` answers. */
import type { JsonObject } from "../kube/core/index.ts";
import { convertCloneSet } from "./clone_set/convert.ts";
import { convertContainerRecreateRequest } from "./container_recreate_request/convert.ts";
import { convertDaemonSet } from "./daemon_set/convert.ts";
import { SchemaError } from "./errors.ts";
import type { Conversion } from "./members.ts";
import { convertPersistentPodState } from "./persistent_pod_state/convert.ts";
import { convertPodUnavailableBudget } from "./pod_unavailable_budget/convert.ts";
import { convertResourceDistribution } from "./resource_distribution/convert.ts";
import { convertSidecarSet } from "./sidecar_set/convert.ts";
import { convertStatefulSet } from "./stateful_set/convert.ts";
import { convertUnitedDeployment } from "./united_deployment/convert.ts";
import { convertWorkloadSpread } from "./workload_spread/convert.ts";

/** By group and kind: a new object of the version; the given one is not changed. Throws SchemaError. */
const conversions: Readonly<Record<string, Conversion>> = {
  "apps.kruise.io/CloneSet": convertCloneSet,
  "apps.kruise.io/StatefulSet": convertStatefulSet,
  "apps.kruise.io/DaemonSet": convertDaemonSet,
  "apps.kruise.io/SidecarSet": convertSidecarSet,
  "apps.kruise.io/UnitedDeployment": convertUnitedDeployment,
  "apps.kruise.io/WorkloadSpread": convertWorkloadSpread,
  "apps.kruise.io/ResourceDistribution": convertResourceDistribution,
  "apps.kruise.io/PersistentPodState": convertPersistentPodState,
  "policy.kruise.io/PodUnavailableBudget": convertPodUnavailableBudget,
  "apps.kruise.io/ContainerRecreateRequest": convertContainerRecreateRequest,
};

/**
 * The object in `apiVersion` (`group/version`); the same object if it is of that version already. Throws SchemaError
 * `NoConversion` for kinds without a conversion and for another group, `UnsupportedVersion` for unknown versions.
 */
export function convertObject(object: JsonObject, apiVersion: string): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/", 2);
  const from = typeof object["apiVersion"] === "string" ? object["apiVersion"] : "";
  const key = `${group}/${String(object["kind"])}`;
  const convert = Object.hasOwn(conversions, key) ? conversions[key] : undefined;
  if (convert === undefined || from.split("/", 1)[0] !== group) {
    throw new SchemaError(
      "NoConversion",
      `no conversion of ${String(object["kind"])} from ${from} to ${apiVersion}`,
    );
  }
  return convert(object, version);
}
