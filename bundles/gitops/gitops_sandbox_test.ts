/** Objects of Git in a sandbox with the controller as it ships, looked at as Argo CD looks at them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { parseAllDocuments } from "yaml";
import { kinds } from "../../crds/index.ts";
import { cloneJson, createMergePatch, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { startControlledSandbox } from "../../testkit/cli/controlled_sandbox.ts";
import { differences, restored, runLua, withoutPaths } from "./argo_cd_fixture.ts";
import { customizations } from "./argocd_cm.ts";
import { ignoredDifferences } from "./ignore_differences.ts";

const { api, sandbox, stopController } = await startControlledSandbox(t, {
  seed: 19,
  gates: "ImagePullJobGate=true",
});
t.teardown(() => stopController());
const root = join(import.meta.dirname, "../..");
const scripts = new Map(customizations().map((each) => [each.name, each]));

function documents(file: string): JsonObject[] {
  const parsed = parseAllDocuments(readFileSync(join(root, file), "utf8"));
  return parsed.map((document) => document.toJS()).filter(isJsonObject);
}

/** One object of Git and its place in the cluster. */
interface Tracked {
  readonly git: JsonObject;
  /** Group and kind. */
  readonly name: string;
  readonly title: string;
  readonly path: string;
}

function tracked(git: JsonObject): Tracked | undefined {
  const [group = "", version = ""] = String(git["apiVersion"]).split("/");
  const kind = kinds.find((each) => each.group === group && each.kind === git["kind"]);
  if (kind === undefined) return undefined;
  const place = kind.scope === "Cluster" ? "" : "/namespaces/default";
  const { name } = Object(git["metadata"]);
  const path = `/apis/${group}/${version}${place}/${kind.plural}`;
  return {
    git,
    name: `${group}_${kind.kind}`,
    title: `${kind.kind} ${name}, ${version}`,
    path: `${path}/${name}`,
  };
}

async function created(git: JsonObject): Promise<Tracked[]> {
  const own = tracked(git);
  const native: Readonly<Record<string, string>> = {
    Deployment: "/apis/apps/v1/namespaces/default/deployments",
    Pod: "/api/v1/namespaces/default/pods",
  };
  await api.post(own?.path.replace(/\/[^/]*$/, "") ?? native[String(git["kind"])] ?? "", git);
  return own === undefined ? [] : [own];
}

async function differing({ git, name, path }: Tracked): Promise<string[]> {
  const paths = ignoredDifferences[name] ?? [];
  const live = await api.get(path);
  return differences(await withoutPaths(git, paths), await withoutPaths(live, paths));
}

const healthOf = async ({ name, path }: Tracked): Promise<JsonObject> =>
  Object(runLua(scripts.get(name)?.health ?? "", await api.get(path)));

/** What is said in the end: Argo CD looks again after each change. */
async function settled(each: Tracked): Promise<JsonObject> {
  let health: JsonObject = {};
  for (const end = Date.now() + 40_000; Date.now() < end; await sleep(100)) {
    health = await healthOf(each);
    if (health["status"] !== "Progressing") break;
  }
  return health;
}

t.test("what admission fills in is no difference", async (t) => {
  await api.post("/api/v1/namespaces/kruise-system/configmaps", {
    metadata: { name: "kruise-configuration" },
    data: { SidecarSet_PatchPodMetadata_WhiteList: '{"rules":[{"allowedAnnotationKeyExprs":["^a$"]}]}' },
  });
  const objects = (await Promise.all(documents("bundles/gitops/testdata/git.yaml").map(created))).flat();
  for (const each of objects) t.strictSame(await differing(each), [], each.title);
  const differs = await Promise.all(
    objects.map(async ({ git, name, path }) =>
      differences(git, await api.get(path)).length > 0 ? [name] : [],
    ),
  );
  t.strictSame(
    [...new Set(differs.flat())].sort(),
    Object.keys(ignoredDifferences)
      .filter((name) => !/DaemonSet|ContainerRecreateRequest/.test(name))
      .sort(),
    "without the paths all of these differ; the others have them for restarts and requests",
  );
});

t.test("each path is needed", async (t) => {
  const name = "apps.kruise.io_CloneSet";
  const [cloneSet] = documents("bundles/gitops/testdata/git.yaml").flatMap((git) => tracked(git) ?? []);
  if (cloneSet === undefined) throw new Error("git.yaml begins with a CloneSet");
  const live = await api.get(cloneSet.path);
  const paths = ignoredDifferences[name] ?? [];
  // Of these it has none yet.
  for (const path of paths.filter(
    (path) => !/podsToDelete|\.env\b.*RESTARTED_AT|\.env \| select/.test(path),
  )) {
    const others = paths.filter((other) => other !== path);
    const found = differences(await withoutPaths(cloneSet.git, others), await withoutPaths(live, others));
    t.not(found.length, 0, path);
  }
});

t.test("a value that is no default is one", async (t) => {
  const [cloneSet] = documents("bundles/gitops/testdata/git.yaml").flatMap((git) => tracked(git) ?? []);
  if (cloneSet === undefined) throw new Error("git.yaml begins with a CloneSet");
  const changes: readonly ((container: JsonObject) => void)[] = [
    (container) => (container["image"] = "nginx:1.26"),
    (container) => (container["imagePullPolicy"] = "Never"),
    (container) => (container["terminationMessagePolicy"] = "FallbackToLogsOnError"),
    (container) => (container["env"] = []),
    (container) => (Object(container["readinessProbe"]).periodSeconds = 30),
  ];
  for (const change of changes) {
    const git = cloneJson(cloneSet.git);
    change(Object(git["spec"]).template.spec.containers[0]);
    t.strictSame(await differing({ ...cloneSet, git }), ["/spec/template/spec/containers"], String(change));
  }
});

t.test("the examples become healthy and stay as they are in Git", async (t) => {
  // The gate of ResourceDistribution needs further rights.
  const files = readdirSync(join(root, "examples")).filter((file) => file !== "resourcedistribution.yaml");
  await created({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "stuck" },
    spec: { nodeName: "node1", containers: [{ name: "main", image: "nginx:1.20" }] },
  });
  await ready("stuck");
  const objects = (
    await Promise.all(files.flatMap((file) => documents(`examples/${file}`)).map(created))
  ).flat();
  for (const each of objects) {
    const { status, message } = await settled(each);
    t.equal(status, "Healthy", `${each.title}: ${message}`);
    t.strictSame(await differing(each), [], `${each.title} is as in Git`);
  }
});

async function ready(pod: string): Promise<void> {
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(50)) {
    const { conditions = [] } = Object((await api.get(`/api/v1/namespaces/default/pods/${pod}`))["status"]);
    if (conditions.some((each: JsonObject) => each["type"] === "Ready" && each["status"] === "True")) return;
  }
  throw new Error(`pod ${pod} is not ready`);
}

t.test("restart replaces the pods, pause and resume hold them", async (t) => {
  const [cloneSet] = documents("examples/cloneset.yaml").flatMap((git) => tracked(git) ?? []);
  if (cloneSet === undefined) throw new Error("the example is a CloneSet");
  const uids = (): (string | undefined)[] =>
    [...sandbox.cluster.list("pods", "default")]
      .filter(({ metadata }) => metadata.labels?.["app"] === "web")
      .map(({ metadata }) => metadata.uid);
  const act = async (action: string): Promise<void> => {
    const live = await api.get(cloneSet.path);
    const after = restored(
      runLua(scripts.get(cloneSet.name)?.actions?.scripts.get(action) ?? "", live),
      live,
    );
    await api.patch(cloneSet.path, createMergePatch(live, isJsonObject(after) ? after : {}));
  };
  const before = uids();
  await act("restart");
  t.match(await settled(cloneSet), { status: "Healthy" });
  const after = uids();
  t.equal(after.length, before.length);
  t.strictSame(
    after.filter((uid) => before.includes(uid)),
    [],
    "all pods are others",
  );
  t.strictSame(await differing(cloneSet), [], "the restart is no difference");
  await act("pause");
  t.match(await settled(cloneSet), { status: "Suspended" });
  await act("resume");
  t.match(await settled(cloneSet), { status: "Healthy" });
  t.strictSame(await differing(cloneSet), [], "nor are these");
});
