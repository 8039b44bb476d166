/** Only who has the lease writes. */
import { isByController } from "./disruptions.ts";
import { textAt } from "./fields.ts";
import type { Rule } from "./rule.ts";

/** A write that was sent by then, and the time that writes have to end after a lease was lost. */
const handoverMs = 4_000;
/** Of a replica that answers webhooks, whether it leads or not. */
const ofAdmission =
  /^(podunavailablebudgets|workloadspreads|persistentpodstates)\b|webhookconfigurations|^events|^leases/;

export const leadership: Rule = (write) => {
  const { cluster, seen, userAgent, verb, resource, staleMs } = write;
  if (!isByController(write) || ofAdmission.test(resource)) return [];
  const lease = cluster.server.cluster.get("leases.coordination.k8s.io", {
    namespace: "kruise-system",
    name: "kruise-manager",
  });
  if (lease === undefined) return [];
  const holders = seen
    .recentStates(lease, staleMs + handoverMs)
    .map((state) => textAt(state, "spec", "holderIdentity"));
  return holders.includes(userAgent)
    ? []
    : [`${userAgent} wrote (${verb} ${resource}) while ${holders.join(", ")} held the lease`];
};
