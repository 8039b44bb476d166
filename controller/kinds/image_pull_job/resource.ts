import { imagePullJob } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const imagePullJobResource = resourceOf(imagePullJob);
