import { containerRecreateRequest } from "../../../crds/index.ts";
import { resourceOf } from "../../plan/resource.ts";

export const containerRecreateRequestResource = resourceOf(containerRecreateRequest);
