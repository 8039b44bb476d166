import { unitedDeployment } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const unitedDeploymentResource = resourceOf(unitedDeployment);
