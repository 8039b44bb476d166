import { unitedDeployment } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const unitedDeploymentResource = resourceOf(unitedDeployment);
