import { persistentPodState } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const persistentPodStateResource = resourceOf(persistentPodState);
