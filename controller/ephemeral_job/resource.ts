import { ephemeralJob } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const ephemeralJobResource = resourceOf(ephemeralJob);
