import assert from "node:assert/strict";
import { at, listAt, textAt } from "../../cli/index.ts";
import { definitionName, kinds } from "../../crds/index.ts";
import { freePorts, portAt } from "../../testkit/cli/free_ports.ts";
import {
  formerDefinitions,
  podsOf,
  putStoredObjects,
  storedObjects,
} from "../../testkit/cli/stored_objects.ts";
import { objectsAt } from "../../testkit/cli/stored_objects_elsewhere.ts";
import { podDisturbances, undisturbed } from "../../testkit/kube/pod_disturbances.ts";
import type { ControllerProcess } from "../cases/controllers.ts";
import { isReady } from "../cases/trail.ts";
import { configurationNames } from "../cases/trusted_authorities.ts";
import type { CommandResult, World } from "../cases/world.ts";
import { ApiError, isRecord } from "../cluster/api.ts";
import type { TestCluster } from "../cluster/cluster.ts";
import { removeInstallation, systemNamespace } from "./installation.ts";
import type { Life, LifeSuite } from "./suite.ts";

/** Every controller has looked at everything, also after the pause for which it gathers changes. */
const settleMs = 10_000;

/** On the nodes of the stored pods: one of each DaemonSet's pods is on each node that it selects. */
const placeLabel = "takeover";

/**
 * A cluster is taken over from OpenKruise and given back: objects of every kind as v1.9 stores them, in the versions in which it
 * stores them. OpenKruise's own manager does not run: its Deployment stands there, with pods that no node takes. Of the
 * workloads' pods none is deleted, created, restarted or written to.
 */
export const takeoverSuite: LifeSuite = {
  number: "l11",
  title: "Takeover from OpenKruise, and the way back",
  needs: ["own-controller"],
  versions: ["v1beta1"],
  async run(world, life) {
    await world.step("what is installed is removed", () => removeInstallation(world));
    try {
      await takeOverAndBack(world, life);
    } finally {
      await removeFormer(world);
    }
  },
};

async function takeOverAndBack(world: World, { nodes, cluster }: Life): Promise<void> {
  const { api, namespace } = world;
  await world.step("definitions and objects as OpenKruise leaves them", async () => {
    for (const definition of formerDefinitions()) await api.create(definition);
    await world.until("served", async () => {
      for (const { group } of kinds) assert.equal((await api.request("GET", `/apis/${group}`)).status, 200);
      await Promise.all(kinds.map((kind) => api.list(resourceOf(kind))));
    });
    const { podSpec, labels } = nodes;
    const { nodeSelector, tolerations } = { nodeSelector: {}, tolerations: [], ...podSpec("") };
    const [first = "", second = ""] = nodes.names;
    const metadata = { labels: { [placeLabel]: "here" } };
    for (const node of [first, second]) await api.patch("nodes", node, undefined, "merge", { metadata });
    const place = {
      namespace,
      nodes: [first, second],
      labels,
      nodeSelector: { ...nodeSelector, [placeLabel]: "here" },
      tolerations,
    } as const;
    const objects = objectsAt(place, await storedObjects());
    await putStoredObjects(world.kubeconfig, objects);
    const pods = podsOf(objects);
    await world.until("all pods are ready", async () => {
      const present = await world.list("pods");
      assert.equal(present.length, pods.length);
      for (const pod of present) assert.ok(isReady(pod), pod.metadata.name);
    });
    assert.deepEqual(await storedOtherwise(cluster), []);
  });
  const trail = await world.trail("pods");
  const untouched = () => assert.deepEqual(podDisturbances(trail.moments), undisturbed);
  const revisions = await revisionNames(world);
  await world.step("check finds nothing in the way, and no pod that would be touched", async () => {
    const { code, stdout, stderr } = await world.refit("migrate", "check");
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^Pods that would be deleted or restarted: 0\nNothing is in the way\.$/m);
  });
  let controller: ControllerProcess | undefined;
  await world.step("takes over without touching a pod", async () => {
    const webhookPort = portAt(await freePorts(1), 0);
    const place = ["--webhook-host", "127.0.0.1", "--webhook-port", String(webhookPort)];
    const command = world.refit("migrate", "cluster", ...place, "--agent-image", "agent:1");
    await whileRunning(command, () =>
      world.until("installed", async () => assert.equal(await phase(world), "installed"), { stableMs: 0 }),
    );
    controller = await world.startController({
      leaderElection: true,
      certificatesInSecret: true,
      gates: "ImagePullJobGate=true",
      webhookPort,
    });
    const { code, stdout, stderr } = await command;
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /\nNobody answered webhooks for \d+\.\d s\.\nRefit leads and answers webhooks\.\n$/);
    await world.stays(async () => untouched(), settleMs);
    assert.deepEqual(await revisionNames(world), revisions, "adopted as they are");
  });
  await world.step("what is written from now on is stored in the newer version", async () => {
    const body = { metadata: { annotations: { written: "once" } } };
    await api.patch(
      resourceOf({ plural: "clonesets", group: "apps.kruise.io" }),
      "sample",
      namespace,
      "merge",
      body,
    );
    const sample = `/registry/apps.kruise.io/clonesets/${namespace}/sample: v1beta1`;
    assert.ok((await storedOtherwise(cluster)).includes(sample));
  });
  await world.step("goes back: stored as before, nothing touched", async () => {
    const command = world.refit("migrate", "cluster", "--back");
    await whileRunning(command, () =>
      world.until("stored in former versions", async () => {
        assert.equal(await phase(world), "returning");
        const { status } = await api.get("customresourcedefinitions", "workloadspreads.apps.kruise.io");
        assert.deepEqual(status?.["storedVersions"], ["v1alpha1"]);
      }),
    );
    await controller?.stop();
    const { code, stdout, stderr } = await command;
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /OpenKruise's manager is back\.\n$/);
    assert.deepEqual(await storedOtherwise(cluster), []);
    const manager = await api.get("deployments", "kruise-controller-manager", systemNamespace);
    assert.equal(manager.spec?.replicas, 2);
    assert.deepEqual(manager.spec?.template?.spec?.containers?.[0]?.image, "openkruise/manager:v1.9.0");
    assert.deepEqual(await revisionNames(world), revisions);
    await trail.stop();
    untouched();
  });
}

/** Throws what the command said if it ends before what is waited for comes. */
async function whileRunning(command: Promise<CommandResult>, wait: () => Promise<void>): Promise<void> {
  const ended = command.then(({ code, stdout, stderr }) => {
    throw new Error(`the command ended with code ${code}:\n${stdout}${stderr}`);
  });
  await Promise.race([ended, wait()]);
  ended.catch(() => undefined);
}

async function phase({ api }: World): Promise<unknown> {
  const record = await api.find("configmaps", "refit-migration", systemNamespace);
  return isRecord(record?.data) ? record.data["phase"] : undefined;
}

async function revisionNames(world: World): Promise<string[]> {
  return (await world.list("controllerrevisions")).map(({ metadata }) => metadata.name).sort();
}

/** Keys of what etcd holds in another version than the former definitions say, with that version. */
async function storedOtherwise(cluster: TestCluster): Promise<string[]> {
  const lines: string[] = [];
  for (const kind of kinds) {
    const version = storageVersionOf(kind);
    for (const [key, value] of await cluster.stored(`/registry/${kind.group}/${kind.plural}/`)) {
      const { apiVersion }: { apiVersion: string } = JSON.parse(value);
      if (apiVersion !== `${kind.group}/${version}`) lines.push(`${key}: ${apiVersion.split("/")[1]}`);
    }
  }
  return lines;
}

const formerByName = new Map(formerDefinitions().map((definition) => [definition.metadata.name, definition]));

function storageVersionOf({ plural, group }: { plural: string; group: string }): string {
  const versions = listAt(formerByName.get(`${plural}.${group}`), "spec", "versions");
  const storage = versions.find((version) => at(version, "storage") === true);
  return textAt(storage, "name") ?? "";
}

/** In the version that needs no conversion. */
function resourceOf(kind: { plural: string; group: string }): string {
  return `${kind.plural}.${storageVersionOf(kind)}.${kind.group}`;
}

/** Nobody takes finalizers off any more, and no webhook answers. */
async function removeFormer({ api }: World): Promise<void> {
  const gone = (error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  };
  for (const [resource, name] of Object.entries(configurationNames))
    await api.remove(resource, name).catch(gone);
  for (const kind of kinds) {
    const resource = resourceOf(kind);
    for (const { metadata } of await api.list(resource).catch(() => [])) {
      if (metadata.finalizers === undefined) continue;
      const body = { metadata: { finalizers: null } };
      await api.patch(resource, metadata.name, metadata.namespace, "merge", body).catch(gone);
    }
    await api.remove("customresourcedefinitions", definitionName(kind)).catch(gone);
  }
  for (const name of [systemNamespace, "kruise-daemon-config"])
    await api.remove("namespaces", name).catch(gone);
}
