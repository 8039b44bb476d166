import { broadcastJob } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const broadcastJobResource = resourceOf(broadcastJob);
