import { workloadSpread } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const workloadSpreadResource = resourceOf(workloadSpread);
