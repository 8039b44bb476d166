import { podUnavailableBudget } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const podUnavailableBudgetResource = resourceOf(podUnavailableBudget);
