import { advancedCronJob } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const advancedCronJobResource = resourceOf(advancedCronJob);
