/** Admission of UnitedDeployments, both versions, whose specs are the same. Spec: uniteddeployment 6. */
import { defaultUnitedDeployment, unitedDeployment, validateUnitedDeployment } from "../../../crds/index.ts";
import { withProtectedReplicas } from "../../runtime/admission/deletion_protection.ts";
import {
  defaultingHandler,
  refusedFor,
  templateDefaulting,
  typedHandler,
} from "../../runtime/admission/typed.ts";
import { kindWebhook, type Webhook } from "../../runtime/admission/webhook.ts";

export const unitedDeploymentWebhooks: readonly Webhook[] = [
  kindWebhook("mutating", unitedDeployment, {
    handler: ({ options }) =>
      defaultingHandler(unitedDeployment.read, (object, old) =>
        defaultUnitedDeployment(object, { ...templateDefaulting(options), ...(old ? { old } : {}) }),
      ),
  }),
  kindWebhook("validating", unitedDeployment, {
    operations: ["CREATE", "UPDATE", "DELETE"],
    handler: ({ options, reported }) => {
      const written = typedHandler(unitedDeployment.read, ({ object }, old) =>
        refusedFor(validateUnitedDeployment(object, old?.object), 422),
      );
      return reported("UnitedDeployment", withProtectedReplicas(options.gates, written));
    },
  }),
];
