import { nodeImage } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const nodeImageResource = resourceOf(nodeImage);
