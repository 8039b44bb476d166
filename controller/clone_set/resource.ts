import { cloneSet } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const cloneSetResource = resourceOf(cloneSet);
