import { ephemeralJob } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const ephemeralJobResource = resourceOf(ephemeralJob);
