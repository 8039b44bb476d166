import { daemonSet } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const daemonSetResource = resourceOf(daemonSet);
