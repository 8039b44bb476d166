import { daemonSet } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const daemonSetResource = resourceOf(daemonSet);
