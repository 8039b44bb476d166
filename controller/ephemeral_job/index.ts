/** EphemeralJob: ephemeral containers in running pods. */
import type { EphemeralJob } from "../../crds/index.ts";
import type { Kind } from "../kind.ts";
import { ephemeralJobWebhooks } from "./admit.ts";
import { ephemeralJobShell } from "./reconcile.ts";
import { ephemeralJobResource } from "./resource.ts";

export const ephemeralJobKind: Kind<EphemeralJob> = {
  controllerName: "ephemeraljob-controller",
  resource: ephemeralJobResource,
  shell: ephemeralJobShell,
  statusMatters: () => false,
  webhooks: ephemeralJobWebhooks,
};
