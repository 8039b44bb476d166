/** Revisions of a UnitedDeployment hold its whole template, whatever is in it. Spec: uniteddeployment 4.2. */
import { encodeTyped, revisionDataOfTyped } from "../../kube/core/index.ts";
import type { RevisedPart } from "../revised.ts";
import { wireStruct } from "../wire_types.ts";

const type = "SubsetTemplate";

export const revisedSubsetTemplate: RevisedPart = {
  path: ["spec", "template"],
  type,
  data: (template) => revisionDataOfTyped(encodeTyped(template, type, wireStruct)),
};
