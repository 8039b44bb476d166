import { persistentPodState } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const persistentPodStateResource = resourceOf(persistentPodState);
