import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse, stringify } from "yaml";
import { customResourceDefinition, kinds } from "../../crds/index.ts";
import { systemClock } from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { apiOf } from "../../testkit/sandbox/sandbox_client.ts";
import { processHost } from "../host.ts";
import { parseManifests } from "../manifest_input.ts";
import { workloads } from "../rollout/workloads.ts";
import { peopleRoles } from "./people.ts";

const viewer = "kruise-viewer-role";
const operator = "kruise-operator-role";
const rbac = "rbac.authorization.k8s.io";
const examples = join(import.meta.dirname, "../../examples");
/** A user of each role, who is called as the role. */
async function start(t: Test) {
  const refusals: string[] = [];
  const sandbox = await startSandbox({
    seed: 23,
    clock: systemClock,
    nodes: 2,
    profile: "fast",
    log: (_message, { user, refusal } = {}) => {
      if (user === viewer || user === operator) refusals.push(String(refusal));
    },
  });
  const api = apiOf(sandbox);
  t.teardown(async () => {
    await api.close();
    await sandbox.stop();
  });
  const folder = t.testdir();
  for (const role of peopleRoles()) {
    const { name } = role.metadata;
    await api.post(`/apis/${rbac}/v1/clusterroles`, role);
    await api.post(`/apis/${rbac}/v1/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
      subjects: [{ apiGroup: rbac, kind: "User", name }],
    });
    const config = parse(sandbox.kubeconfig);
    config.users[0].user.as = name;
    writeFileSync(join(folder, name ?? ""), stringify(config));
  }
  for (const kind of kinds) {
    const { spec, ...rest } = customResourceDefinition(kind);
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      ...rest,
      spec: { ...spec, conversion: { strategy: "None" } },
    });
  }
  const host = processHost();
  const as = (user: string, line: string) =>
    run(`${line} --kubeconfig ${join(folder, user)} --request-timeout 20s`, { host });
  return { api, as, refusals };
}

interface Made {
  readonly kind: string;
  /** `cloneset.apps.kruise.io/web`. */
  readonly name: string;
}

/** What the pages of the kinds show, and a pod that waits for a claim. */
async function createExamples(api: ReturnType<typeof apiOf>): Promise<Made[]> {
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

async function createWaitingPod(api: ReturnType<typeof apiOf>, owner: unknown): Promise<void> {
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

t.test("the roles for people let every command do its work, and no more", async (t) => {
  const { api, as, refusals } = await start(t);
  const made = await createExamples(api);
  const refusedTo = async (user: string, line: string): Promise<string[]> => {
    refusals.length = 0;
    const { stderr } = await as(user, line);
    return [...refusals, ...(stderr.includes("Forbidden") ? [stderr] : [])];
  };
  const isRolledOut = (kind: string) => workloads.some((each) => each.kind === kind);

  await t.test("a viewer reads", async (t) => {
    t.ok(made.length > 18, `${made.length} objects`);
    for (const { kind, name } of made) {
      // Its copies may be Secrets, which the role does not read.
      const isOfSecrets = kind === "ResourceDistribution";
      const lines = [`get ${name}`, ...(isOfSecrets ? [] : [`why ${name}`, `plan ${name}`, `tree ${name}`])];
      if (isRolledOut(kind))
        lines.push(`rollout status ${name} -w=false --detail`, `rollout history ${name}`);
      for (const line of lines) t.same(await refusedTo(viewer, line), [], line);
    }
    const all = await refusedTo(viewer, "why -A");
    t.match(all, [/list resource "configmaps"/], "of the ResourceDistribution alone");
    t.equal(all.length, 1);
    for (const line of ["why clone -A", "why deployment -A", "why pod/web-waits", "get clone -A"])
      t.same(await refusedTo(viewer, line), [], line);
  });

  await t.test("a viewer changes nothing", async (t) => {
    for (const line of [
      "rollout pause clone/web",
      "scale clone/web --replicas 9",
      "rollout restart clone/web",
    ])
      t.not((await refusedTo(viewer, line)).length, 0, line);
  });

  await t.test("an operator steers rollouts and starts jobs", async (t) => {
    for (const line of [
      "rollout pause clone/web",
      "rollout resume clone/web",
      "rollout pause acj/nightly",
      "rollout promote clone/web",
      "rollout restart asts/store",
      "rollout undo clone/web",
      "set image clone/web web=nginx:1.21",
      "set env clone/web A=b",
      "scale clone/web --replicas 3",
      "scaledown clone/web --pods web-waits",
      "create crr once --pod web-waits",
      "create bcj once --image busybox:1.34",
      "create job once --image busybox:1.34",
    ])
      t.same(await refusedTo(operator, line), [], line);
  });

  await t.test("an operator neither runs commands in pods nor touches what is made for nodes", async (t) => {
    t.match(await refusedTo(operator, "expose clone/web --port 80 --name other"), [
      /create resource "services"/,
    ]);
    const rules = JSON.stringify(peopleRoles());
    t.notMatch(rules, /"(secrets|pods\/exec|\*)"/);
  });
});

t.test("the roles are printed alone, and a viewer's rules have no verb that writes", async (t) => {
  const { code, stdout } = await run("manifests --roles");
  t.equal(code, 0);
  const printed = parseManifests(stdout, "roles");
  t.same(
    printed.map(({ kind, metadata }) => [kind, metadata.name]),
    [
      ["ClusterRole", viewer],
      ["ClusterRole", operator],
    ],
  );
  t.notMatch(JSON.stringify(printed[0]), /"(create|update|patch|delete|\*)"/);
});
