/** What stands in the way of taking over a cluster, and what is only good to know. */
import { counted } from "../../kube/core/index.ts";
import type { Definition, MigrationFacts, Planned, Workload } from "./facts.ts";
import { restarts } from "./touch.ts";

export interface Finding {
  readonly inTheWay: boolean;
  readonly message: string;
}

/** Those of the definitions of this program and of the reference. Spec: platform 1.1. */
const knownVersions: readonly string[] = ["v1alpha1", "v1beta1"];
const mostNames = 10;

const note = (message: string): Finding => ({ inTheWay: false, message });
const obstacle = (message: string): Finding => ({ inTheWay: true, message });

/** In the order in which they are printed. */
export function findingsOf(facts: MigrationFacts): Finding[] {
  return [
    ...managerFindings(facts),
    ...webhookFindings(facts),
    ...facts.definitions.flatMap(definitionFindings),
    ...facts.planned.flatMap(plannedFindings),
    ...facts.unplanned.map(({ object, error }) => obstacle(`${object} cannot be planned: ${error}`)),
    ...facts.differences.map(note),
    ...facts.unread.map((reason) => obstacle(`not read: ${reason}`)),
  ];
}

function managerFindings({ namespace, namespaceExists, workloads, gatesError }: MigrationFacts): Finding[] {
  if (!namespaceExists)
    return [obstacle(`there is no namespace ${namespace}: name the manager's with --controller-namespace`)];
  const manager = workloads.some(({ kind }) => kind === "Deployment")
    ? []
    : [obstacle(`no manager in namespace ${namespace}: there is no Deployment kruise-controller-manager`)];
  return [
    ...manager,
    ...workloads.map((workload) => note(describeWorkload(workload))),
    ...(gatesError === undefined ? [] : [obstacle(`feature gates of the manager: ${gatesError}`)]),
  ];
}

function describeWorkload({ kind, name, replicas, images, flags, ours }: Workload): string {
  const given = flags.length === 0 ? "" : `, ${flags.join(" ")}`;
  return `${kind} ${name}${ours ? " is Refit's already" : ""}: ${counted(replicas, "pod")}, ${images.join(", ")}${given}`;
}

/** Webhooks that another namespace answers mean that its manager would go on beside this one. */
function webhookFindings({ namespace, webhooks }: MigrationFacts): Finding[] {
  return webhooks.map(({ name, backends }) => {
    const text = `${name} is answered by ${backends.length === 0 ? "nobody" : backends.join(", ")}`;
    const elsewhere = backends.find((backend) => isService(backend) && !backend.startsWith(`${namespace}/`));
    if (elsewhere === undefined) return note(text);
    return obstacle(`${text}: is the manager in another namespace? See --controller-namespace`);
  });
}

const isService = (backend: string): boolean => !backend.startsWith("https:");

function definitionFindings({ name, stored }: Definition): Finding[] {
  const unknown = stored.filter((version) => !knownVersions.includes(version));
  if (unknown.length === 0) return [];
  return [obstacle(`${name}: stored as ${unknown.join(", ")}, which is not known here`)];
}

function plannedFindings({ object, summary, touches, newRevision, notice }: Planned): Finding[] {
  const restarted = touches.filter(restarts);
  const patched = touches.length - restarted.length;
  const findings: Finding[] = notice === undefined ? [] : [note(notice)];
  if (newRevision !== undefined)
    findings.push(
      obstacle(
        `${object}: its template has no revision that is recognised; ${newRevision} would be made, and all its pods updated to it`,
      ),
    );
  if (restarted.length > 0) {
    const why = newRevision === undefined ? ": a rollout is under way; wait for its end, or pause it" : "";
    const names = restarted.slice(0, mostNames).map(({ pod, effect }) => `${pod} ${effect}`);
    const more = restarted.length > mostNames ? ` and ${restarted.length - mostNames} more` : "";
    findings.push(obstacle(`${object} (${summary}): next ${names.join(", ")}${more}${why}`));
  }
  if (patched > 0)
    findings.push(
      note(`${object}: metadata or conditions of ${counted(patched, "pod")} are written; no restart`),
    );
  return findings;
}

/** Pods that the next plans delete or update, over all objects, each once. */
export function restartCount({ planned }: Pick<MigrationFacts, "planned">): number {
  const pods = planned.flatMap(({ touches }) => touches.filter(restarts).map(({ pod }) => pod));
  return new Set(pods).size;
}
