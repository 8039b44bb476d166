import { statefulSet } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const statefulSetResource = resourceOf(statefulSet);
