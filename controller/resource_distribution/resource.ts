import { resourceDistribution } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const resourceDistributionResource = resourceOf(resourceDistribution);
