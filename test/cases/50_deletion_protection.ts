import assert from "node:assert/strict";
import type { ControllerProcess } from "./controllers.ts";
import { resourceOf } from "./handle.ts";
import { cloneSet, container } from "./manifests.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const LABEL = "policy.kruise.io/delete-protection";
const WORDS = `forbidden by ResourcesProtectionDeletion for ${LABEL}=`;
const CASCADING_GATE = "DeletionProtectionForCRDCascadingGate";

/** Names of the namespace and the definition, which belong to no namespace: different in every run. */
interface Names {
  readonly guarded: string;
  readonly toys: string;
}

function namesOf(world: World): Names {
  const id = world.namespace.split("-").at(-1) ?? "";
  return { guarded: `guarded-${id}`, toys: `toy${id}s.case.example` };
}

function labels(value: string | null): object {
  return { labels: { [LABEL]: value } };
}

function template(name: string): object {
  const podSpec = { terminationGracePeriodSeconds: 1, containers: [container("nginx", "nginx:1.20")] };
  return { metadata: { labels: { case: name } }, spec: podSpec };
}

function workload(apiVersion: string, kind: string, name: string, spec: object): object {
  return {
    apiVersion,
    kind,
    metadata: { name, ...labels("Always") },
    spec: { ...spec, selector: { matchLabels: { case: name } }, template: template(name) },
  };
}

function deployment(policy: string): object {
  const object = workload("apps/v1", "Deployment", "guarded", { replicas: 0 });
  return { ...object, metadata: { name: "guarded", ...labels(policy) } };
}

function guardedSet(world: World): object {
  const set = cloneSet(world.version, { name: "guarded", replicas: 2, labels: { case: "set" } });
  return { ...set, metadata: { name: "guarded", ...labels("Cascading") } };
}

const ingress = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "guarded", ...labels("Always") },
  spec: { defaultBackend: { service: { name: "guarded", port: { number: 80 } } } },
};

function alwaysGuarded(world: World): (readonly [resource: string, name: string])[] {
  return [
    ["deployments.v1.apps", "guarded"],
    ["replicasets.v1.apps", "guarded-rs"],
    ["statefulsets.v1.apps", "guarded-sts"],
    [`statefulsets.${world.version}.apps.kruise.io`, "guarded-asts"],
    ["services", "guarded"],
    ["ingresses.v1.networking.k8s.io", "guarded"],
  ];
}

/** Its plural, lower case, is the first part of the definition's name. */
function kindOf(definition: string): string {
  return `T${definition.slice(1, definition.indexOf("s."))}`;
}

function definition(name: string): object {
  const plural = name.split(".")[0] ?? "";
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name, ...labels("Cascading") },
    spec: {
      group: "case.example",
      scope: "Namespaced",
      names: { plural, kind: kindOf(name) },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

async function stepOne(world: World, { guarded }: Names): Promise<void> {
  const controller = await world.startController();
  await world.step("1 without the gate the label means nothing", async () => {
    await world.api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: guarded } });
    await world.api.create(deployment("Always"), guarded);
    await world.api.remove("deployments.v1.apps", "guarded", guarded);
    await world.until("the Deployment is gone", async () => {
      assert.equal(await world.api.find("deployments.v1.apps", "guarded", guarded), undefined);
    });
  });
  await controller.stop();
}

async function stepTwo(world: World, { guarded }: Names): Promise<void> {
  const { api } = world;
  await world.step("2 labelled objects are not deleted", async () => {
    await api.patch("namespaces", guarded, undefined, "merge", { metadata: labels("Always") });
    await api.create(guardedSet(world), guarded);
    await api.create(deployment("Always"), guarded);
    await api.create(workload("apps/v1", "ReplicaSet", "guarded-rs", { replicas: 0 }), guarded);
    await api.create(
      workload("apps/v1", "StatefulSet", "guarded-sts", { replicas: 0, serviceName: "none" }),
      guarded,
    );
    const set = { replicas: 0, serviceName: "none" };
    await api.create(
      workload(`apps.kruise.io/${world.version}`, "StatefulSet", "guarded-asts", set),
      guarded,
    );
    const ports = [{ name: "http", port: 80 }];
    await api.create(
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "guarded", ...labels("Always") },
        spec: { ports },
      },
      guarded,
    );
    await api.create(ingress, guarded);
    const refused = async (
      resource: string,
      name: string,
      words: string,
      namespace?: string,
    ): Promise<void> => {
      for (const dryRun of [{}, { dryRun: ["All"] }]) {
        await world.refuses(403, () => api.remove(resource, name, namespace, dryRun), `${WORDS}${words}`);
        assert.ok(await api.find(resource, name, namespace), `${resource} ${name}`);
      }
    };
    await refused("namespaces", guarded, "Always");
    await refused(resourceOf("CloneSet", world.version), "guarded", "Cascading and replicas 2>0", guarded);
    for (const [resource, name] of alwaysGuarded(world)) {
      await refused(resource, name, "Always", guarded);
    }
  });
}

async function stepsThreeAndFour(world: World, { guarded }: Names): Promise<void> {
  const { api } = world;
  const scaleDown = () =>
    api.patch(resourceOf("CloneSet", world.version), "guarded", guarded, "merge", { spec: { replicas: 0 } });
  const activePods = async () =>
    (await api.list("pods", guarded)).filter((pod) => !pod.metadata.deletionTimestamp);
  await world.step("3 a workload without replicas", async () => {
    await scaleDown();
    await api.remove(resourceOf("CloneSet", world.version), "guarded", guarded);
    await world.until("no pods", async () => assert.equal((await api.list("pods", guarded)).length, 0));
  });
  await world.step("4 a namespace with pods", async () => {
    await api.patch("namespaces", guarded, undefined, "merge", { metadata: labels("Cascading") });
    await api.create(guardedSet(world), guarded);
    await world.until("two pods", async () => assert.equal((await activePods()).length, 2));
    await world.refuses(
      403,
      () => api.remove("namespaces", guarded),
      `${WORDS}Cascading and active pods 2>0`,
    );
    await scaleDown();
    await world.until("no pods", async () => assert.equal((await activePods()).length, 0));
    for (const [resource, name] of alwaysGuarded(world)) {
      await api.patch(resource, name, guarded, "merge", { metadata: labels(null) });
    }
    await api.remove("namespaces", guarded);
    await world.once("the namespace is gone", async () =>
      assert.equal(await api.find("namespaces", guarded), undefined),
    );
  });
}

async function stepFive(world: World, { toys }: Names, only: ControllerProcess): Promise<void> {
  const { api, namespace } = world;
  const resource = `${toys.split(".")[0]}.v1.case.example`;
  const removeDefinition = () => api.remove("customresourcedefinitions", toys);
  await world.step("5 definitions, with one gate", async () => {
    await api.create(definition(toys));
    await world.refuses(403, removeDefinition, `feature-gate ${CASCADING_GATE} is not enabled`);
  });
  await only.stop();
  await world.startController({ gates: `ResourcesDeletionProtection=true,${CASCADING_GATE}=true` });
  await world.step("5 definitions, with both gates", async () => {
    const toy = { apiVersion: "case.example/v1", kind: kindOf(toys), metadata: { name: "one" } };
    await world.until("toys are served", async () => void (await api.list(resource, namespace)));
    await api.create(toy, namespace);
    await world.refuses(403, removeDefinition, `${WORDS}Cascading and active CRs 1>0`);
    await api.remove(resource, "one", namespace);
    await removeDefinition();
  });
}

async function stepSix(world: World, controller: ControllerProcess): Promise<void> {
  const { api, namespace } = world;
  await world.step("6 an unknown value protects nothing", async () => {
    await api.create(deployment("always"), namespace);
    await api.remove("deployments.v1.apps", "guarded", namespace);
  });
  await world.step("refusals are counted", async () => {
    const metrics = await controller.metrics();
    const count =
      /^workload_deletion_protection\{kind_namespace_name="Deployment_guarded-\S+_guarded",username="\S+"\} 2$/m;
    assert.match(metrics, count);
    assert.match(metrics, /^namespace_deletion_protection\{name="guarded-\S+",username="\S+"\} 3$/m);
  });
}

export const suite: Suite = {
  number: "50",
  title: "Deletion protection",
  needs: ["own-controller"],
  async run(world) {
    const names = namesOf(world);
    await stepOne(world, names);
    const controller = await world.startController({ gates: "ResourcesDeletionProtection=true" });
    await stepTwo(world, names);
    await stepsThreeAndFour(world, names);
    await stepSix(world, controller);
    await stepFive(world, names, controller);
  },
};
