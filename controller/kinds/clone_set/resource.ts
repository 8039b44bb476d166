import { cloneSet } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const cloneSetResource = resourceOf(cloneSet);
