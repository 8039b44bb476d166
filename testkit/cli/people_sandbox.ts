/** A sandbox with people who have roles, and with the objects that the pages of the kinds show. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { parse, stringify } from "yaml";
import type { AnyObject } from "../../cli/fields.ts";
import { parseManifests } from "../../cli/manifest_input.ts";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { apiOf } from "../sandbox/sandbox_client.ts";

type Api = ReturnType<typeof apiOf>;

export interface PeopleSandbox {
  readonly api: Api;
  /** What was refused to them since the list was emptied. */
  readonly refusals: string[];
  /** Path of the kubeconfig of the user who has a role. */
  kubeconfigOf(role: string): string;
}

const rbac = "rbac.authorization.k8s.io";
const examples = join(import.meta.dirname, "../../examples");

/** Two nodes, all kinds, and a user of each ClusterRole, who is called as the role. No controller. */
export async function startPeopleSandbox(t: Test, roles: readonly AnyObject[]): Promise<PeopleSandbox> {
  const refusals: string[] = [];
  const users = new Set(roles.map(({ metadata }) => metadata.name));
  const sandbox = await startSandbox({
    seed: 23,
    clock: systemClock,
    nodes: 2,
    profile: "fast",
    log: (_message, { user, refusal } = {}) => {
      if (typeof user === "string" && users.has(user)) refusals.push(String(refusal));
    },
  });
  const api = apiOf(sandbox);
  t.teardown(async () => {
    await api.close();
    await sandbox.stop();
  });
  const folder = t.testdir();
  for (const role of roles) {
    const { name = "" } = role.metadata;
    await grant(api, role, name);
    const config = parse(sandbox.kubeconfig);
    config.users[0].user.as = name;
    writeFileSync(join(folder, name), stringify(config));
  }
  for (const kind of kinds) {
    const { spec, ...rest } = customResourceDefinition(kind);
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      ...rest,
      spec: { ...spec, conversion: { strategy: "None" } },
    });
  }
  return { api, refusals, kubeconfigOf: (role) => join(folder, role) };
}

async function grant(api: Api, role: AnyObject, name: string): Promise<void> {
  await api.post(`/apis/${rbac}/v1/clusterroles`, role);
  await api.post(`/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ apiGroup: rbac, kind: "User", name }],
  });
}

export interface Made {
  readonly kind: string;
  /** `cloneset.apps.kruise.io/web`. */
  readonly name: string;
}

/** What the pages of the kinds show, and a pod that waits for a claim. */
export async function createExamples(api: Api): Promise<Made[]> {
  const made: Made[] = [];
  for (const file of readdirSync(examples)) {
    for (const object of parseManifests(readFileSync(join(examples, file), "utf8"), file)) {
      const { apiVersion = "", kind = "", metadata } = object;
      const definition = apiVersion.includes("kruise.io")
        ? kinds.find((each) => each.kind === kind)
        : undefined;
      const plural = definition?.plural ?? `${kind.toLowerCase()}s`;
      const isOfCluster = kind === "Namespace" || definition?.scope === "Cluster";
      const place = isOfCluster ? "" : `namespaces/${metadata.namespace ?? "default"}/`;
      const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
      const { metadata: stored } = await api.post(`${root}/${place}${plural}`, object);
      if (definition !== undefined)
        made.push({ kind, name: `${definition.singular}.${definition.group}/${metadata.name}` });
      if (kind === "CloneSet" && metadata.name === "web") await createWaitingPod(api, stored);
    }
  }
  return made;
}

async function createWaitingPod(api: Api, owner: unknown): Promise<void> {
  const { uid } = { uid: "", ...Object(owner) };
  await api.post("/api/v1/namespaces/default/pods", {
    metadata: {
      name: "web-waits",
      labels: { app: "web" },
      ownerReferences: [
        { apiVersion: "apps.kruise.io/v1beta1", kind: "CloneSet", name: "web", uid, controller: true },
      ],
    },
    spec: {
      containers: [{ name: "web", image: "nginx:1.20" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "missing" } }],
    },
  });
}
