import { imageListPullJob } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const imageListPullJobResource = resourceOf(imageListPullJob);
