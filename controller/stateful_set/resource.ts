import { statefulSet } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const statefulSetResource = resourceOf(statefulSet);
