import { imageListPullJob } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const imageListPullJobResource = resourceOf(imageListPullJob);
