import { nodeImage } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const nodeImageResource = resourceOf(nodeImage);
