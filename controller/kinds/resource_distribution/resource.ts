import { resourceDistribution } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const resourceDistributionResource = resourceOf(resourceDistribution);
