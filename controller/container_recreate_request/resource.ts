import { containerRecreateRequest } from "../../crds/index.ts";
import { resourceOf } from "../resource.ts";

export const containerRecreateRequestResource = resourceOf(containerRecreateRequest);
