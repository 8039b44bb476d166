import { webhookConfigurations } from "../../controller/index.ts";
import { type AnyObject, toAnyObject } from "../fields.ts";
import type { InstallOptions } from "./manifests.ts";

/** Both webhook configurations, last: from here on the API server asks the controller. */
export function webhookObjects(options: InstallOptions): AnyObject[] {
  const { namespace, webhookHost, webhookPort } = options;
  const { mutating, validating } = webhookConfigurations({
    namespace,
    service: "kruise-webhook-service",
    ...(webhookHost === undefined ? {} : { host: webhookHost, port: webhookPort }),
  });
  return [toAnyObject(mutating), toAnyObject(validating)];
}
