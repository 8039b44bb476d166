/** SidecarSet between its versions. Spec: sidecarset 1. */
import { own } from "../../kube/core/index.ts";
import {
  type Conversion,
  conversionOf,
  member,
  metadataMap,
  within,
  withMetadataMap,
  without,
} from "../members.ts";
import { customVersionLabel, namespaceNameLabel } from "./names.ts";

/** A namespace given by name becomes a selector, which replaces one beside it and is not turned back. */
export const convertSidecarSet: Conversion = conversionOf("apps.kruise.io", {
  toV1beta1: (object) => {
    const version = own(metadataMap(object, "labels"), customVersionLabel);
    const converted = within(object, "spec", (spec) => {
      const { namespace, ...rest } = spec;
      return {
        ...rest,
        ...(typeof namespace === "string" && namespace !== ""
          ? { namespaceSelector: { matchLabels: { [namespaceNameLabel]: namespace } } }
          : {}),
        ...(typeof version === "string" && version !== "" ? { customVersion: version } : {}),
      };
    });
    return version === undefined
      ? converted
      : withMetadataMap(converted, "labels", { [customVersionLabel]: undefined });
  },
  toV1alpha1: (object) => {
    const version = member(object, "spec")["customVersion"];
    const converted = within(object, "spec", (spec) => without(spec, ["customVersion"]));
    if (typeof version !== "string" || version === "") return converted;
    return withMetadataMap(converted, "labels", { [customVersionLabel]: version });
  },
});
