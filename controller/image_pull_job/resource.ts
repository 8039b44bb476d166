import { imagePullJob } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const imagePullJobResource = resourceOf(imagePullJob);
