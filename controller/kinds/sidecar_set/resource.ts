import { sidecarSet } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const sidecarSetResource = resourceOf(sidecarSet);
