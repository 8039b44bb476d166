import { sidecarSet } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const sidecarSetResource = resourceOf(sidecarSet);
