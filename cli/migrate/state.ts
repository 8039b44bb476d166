/** How far a migration is, read from the cluster. */
import { type Client, ignoreNotFound, jsonResource, leaseResource, podResource } from "../../kube/index.ts";
import type { Host } from "../command.ts";
import { type AnyObject, at, listAt, numberAt, textAt } from "../fields.ts";
import { builtinType } from "../install/apply.ts";
import { objectResource } from "../resource_types.ts";
import type { MigrationState, Program } from "./plan.ts";
import { runsRefit } from "./program.ts";
import { agentName, managerName } from "./read_facts.ts";
import { type MigrationRecord, type RecordPlace, readRecord } from "./record.ts";

export const deploymentType = builtinType({ apiVersion: "apps/v1", kind: "Deployment" });
export const daemonSetType = builtinType({ apiVersion: "apps/v1", kind: "DaemonSet" });
export const definitionType = builtinType({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
});
const leaseName = "kruise-manager";

export interface MigrationPlace extends RecordPlace {
  readonly host: Pick<Host, "clock">;
}

export interface Observed {
  readonly state: MigrationState;
  readonly record: MigrationRecord | undefined;
  /** Empty when nobody does. */
  readonly leaseHolder: string;
}

export async function observe(place: MigrationPlace): Promise<Observed> {
  const { client, namespace } = place;
  const named = (type: typeof deploymentType, name: string) =>
    client.get(objectResource(type), { namespace, name }).catch(ignoreNotFound);
  const [record, manager, agents, leaseHolder, pods] = await Promise.all([
    readRecord(place),
    named(deploymentType, managerName),
    named(daemonSetType, agentName),
    holderOf(place),
    client.list(podResource, { namespace, labelSelector: "control-plane=controller-manager" }),
  ]);
  const former = record?.objects.find(({ kind }) => kind === "Deployment");
  const isRefitLeading = record?.phase === "installed" && leaseHolder !== "";
  const state: MigrationState = {
    phase: record?.phase,
    manager:
      manager === undefined ? undefined : { program: programOf(manager), replicas: replicasOf(manager) },
    formerReplicas: former === undefined ? 0 : replicasOf(former),
    managerPods: pods.items.length,
    leaseHeld: leaseHolder !== "",
    agents: agents === undefined ? undefined : programOf(agents),
    storedAsBefore: (await outlivedVersions(client, record)).length === 0,
    serving: isRefitLeading && (await answersAdmission(place)),
  };
  return { state, record, leaseHolder };
}

const programOf = (workload: AnyObject): Program => (runsRefit(workload) ? "refit" : "former");
const replicasOf = (deployment: AnyObject): number => numberAt(deployment, "spec", "replicas") ?? 1;

/** Empty for a lease that was given back or has expired. */
async function holderOf({ client, namespace, host }: MigrationPlace): Promise<string> {
  const lease = await client.get(leaseResource, { namespace, name: leaseName }).catch(ignoreNotFound);
  const { holderIdentity = "", renewTime = "", leaseDurationSeconds = 15 } = lease?.spec ?? {};
  const expires = Date.parse(renewTime) + leaseDurationSeconds * 1000;
  return expires > host.clock.now() ? holderIdentity : "";
}

export interface OutlivedVersion {
  readonly live: AnyObject;
  /** The version that the former definition stores. */
  readonly storage: string;
}

/** Definitions some of whose objects are stored in a version that the former definition does not have. */
export async function outlivedVersions(
  client: Client,
  record: MigrationRecord | undefined,
): Promise<OutlivedVersion[]> {
  const outlived: OutlivedVersion[] = [];
  for (const former of record?.objects ?? []) {
    if (former.kind !== definitionType.kind) continue;
    const ref = { name: former.metadata.name ?? "" };
    const live = await client.get(objectResource(definitionType), ref).catch(ignoreNotFound);
    const versions = listAt(former, "spec", "versions");
    const known = new Set(versions.map((version) => textAt(version, "name")));
    const storage = textAt(
      versions.find((version) => at(version, "storage") === true),
      "name",
    );
    const stored = listAt(live, "status", "storedVersions");
    if (live === undefined || storage === undefined) continue;
    if (stored.some((name) => typeof name === "string" && !known.has(name))) outlived.push({ live, storage });
  }
  return outlived;
}

const cloneSets = jsonResource({
  group: "apps.kruise.io",
  version: "v1alpha1",
  plural: "clonesets",
  kind: "CloneSet",
  namespaced: true,
});

/** Whether a CloneSet would be let through, which takes a webhook that answers. */
async function answersAdmission({ client, namespace }: MigrationPlace): Promise<boolean> {
  const labels = { app: "refit-migration" };
  const body = {
    apiVersion: "apps.kruise.io/v1alpha1",
    kind: "CloneSet",
    metadata: { name: "refit-migration", namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  };
  try {
    const answer = await client.create(cloneSets, namespace, body, { dryRun: true });
    // Defaults of the template come from the webhook alone.
    return listAt(answer, "spec", "template", "spec", "containers").some(
      (container) => textAt(container, "terminationMessagePath") !== undefined,
    );
  } catch {
    return false;
  }
}
