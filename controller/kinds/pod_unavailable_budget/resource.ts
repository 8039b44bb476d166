import { podUnavailableBudget } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const podUnavailableBudgetResource = resourceOf(podUnavailableBudget);
