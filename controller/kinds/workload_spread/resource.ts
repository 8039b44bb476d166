import { workloadSpread } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const workloadSpreadResource = resourceOf(workloadSpread);
