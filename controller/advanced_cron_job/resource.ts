import { advancedCronJob } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const advancedCronJobResource = resourceOf(advancedCronJob);
