import { broadcastJob } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const broadcastJobResource = resourceOf(broadcastJob);
