/** Pods that are created and deleted all at once, through several replicas of the webhooks and one API server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { installObjects } from "../../cli/install/index.ts";
import {
  type AdmissionDeps,
  admission,
  controllerOptions,
  startControllers,
} from "../../controller/index.ts";
import { customResourceDefinition, workloadSpread } from "../../crds/index.ts";
import {
  createClient,
  fixedCredentials,
  nullLog,
  seededRandom,
  systemClock,
  undiciTransport,
} from "../../kube/index.ts";
import { startSandbox } from "../../sandbox/index.ts";
import { accountToken, installAccess, MissingRights } from "../../testkit/kube/account_fixture.ts";
import { type Moment, Trail } from "../cases/trail.ts";
import { ApiError, connect, type Item, isRecord } from "../cluster/api.ts";
import { reached } from "./lab.ts";

const namespace = "spread";
const systemNamespace = "kruise-system";
const service = "kruise-webhook-service";
const spreads = "workloadspreads.v1beta1.apps.kruise.io";
const caps = { a: 30, b: 50 } as const;
const pods = 200;

/** An API server without nodes and built-in controllers, three replicas of the webhooks, one controller of the kind. */
async function start(t: Test) {
  const rights = new MissingRights();
  const sandbox = await startSandbox({ seed: 14, clock: systemClock, log: rights.log });
  const folder = mkdtempSync(join(tmpdir(), "refit-spread-"));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, sandbox.kubeconfig, { mode: 0o600 });
  const api = connect(kubeconfig);
  t.teardown(async () => {
    await api.close();
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
    rights.check();
  });
  await installAccess(kubeconfig);
  await api.create(customResourceDefinition(workloadSpread));
  for (const object of installObjects({ namespace: systemNamespace, webhookHost: undefined, webhookPort: 0 }))
    if (object.kind?.endsWith("WebhookConfiguration")) await api.create(object);
  const token = await accountToken(kubeconfig, "kruise-manager");
  const clientOf = (userAgent: string) => {
    const client = createClient({
      credentials: fixedCredentials(sandbox.url, {
        headers: { authorization: `Bearer ${token}` },
        tls: { ca: sandbox.caCert },
      }),
      clock: systemClock,
      random: Math.random,
      userAgent,
      transport: undiciTransport({ clock: systemClock }),
    });
    t.teardown(() => client.close());
    return client;
  };
  const options = controllerOptions({ systemNamespace });
  const urls: string[] = [];
  for (const number of [1, 2, 3]) {
    const deps: AdmissionDeps = {
      client: clientOf(`webhook-${number}/`),
      clock: systemClock,
      random: Math.random,
      log: nullLog,
      options,
      settings: {
        namespace: systemNamespace,
        service,
        secret: "kruise-webhook-certs",
        host: undefined,
        port: 0,
        listenHost: undefined,
        certificateDirectory: undefined,
        certificates: "secret",
        renewBeforeMs: 0,
      },
      allowPrivileged: true,
      leads: number === 1,
      refused: () => undefined,
      podStepTook: () => undefined,
      metrics: { review: () => undefined, failed: () => undefined },
    };
    const replica = admission(deps);
    t.teardown(() => replica.stop());
    const { port } = await replica.start();
    urls.push(`https://127.0.0.1:${port}`);
  }
  // The Service: replicas take turns, review by review.
  let turn = 0;
  sandbox.serviceUrls.get = () => urls[turn++ % urls.length];
  const controllers = startControllers({
    client: clientOf("controller/"),
    clock: systemClock,
    random: Math.random,
    log: nullLog,
    options,
  });
  t.teardown(() => controllers.stop(0));
  await controllers.synced;
  return { sandbox, api };
}

function subsetOf({ metadata }: Item): string {
  const match: unknown = JSON.parse(metadata.annotations?.["apps.kruise.io/matched-workloadspread"] ?? "{}");
  return isRecord(match) ? String(match["subset"]) : "";
}

/** Most pods that each subset ever had at once, without those in `leaving`, whose places are free once they may go. */
function mostOf(moments: readonly Moment[], leaving: readonly Item[] = []): Record<string, number> {
  const gone = new Set(leaving.map(({ metadata }) => metadata.uid));
  const alive = new Map<string, string>();
  const most: Record<string, number> = {};
  for (const { type, object } of moments) {
    const { uid } = object.metadata;
    if (type === "DELETED" || gone.has(uid)) alive.delete(uid);
    else alive.set(uid, subsetOf(object));
    for (const subset of ["a", "b"]) {
      const count = [...alive.values()].filter((each) => each === subset).length;
      most[subset] = Math.max(most[subset] ?? 0, count);
    }
  }
  return most;
}

/** Again while the webhook refuses: others were faster four times. */
async function tried(request: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await request();
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || !error.message.includes("was changed by others")) throw error;
    }
  }
}

t.test(
  "200 pods at once through three replicas: every subset has its pods, and never one more",
  async (t) => {
    const { sandbox, api } = await start(t);
    await api.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const labels = { case: "it" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "app", image: "app:v1" }] } };
    const set = await api.create(
      {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        metadata: { name: "it" },
        spec: { replicas: pods, selector: { matchLabels: labels }, template },
      },
      namespace,
    );
    await api.create(
      {
        apiVersion: "apps.kruise.io/v1beta1",
        kind: "WorkloadSpread",
        metadata: { name: "it" },
        spec: {
          targetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "it" },
          subsets: [{ name: "a", maxReplicas: caps.a }, { name: "b", maxReplicas: caps.b }, { name: "c" }],
        },
      },
      namespace,
    );
    const writers = new Set<string>();
    t.teardown(
      sandbox.faults.onWrite(
        ({ userAgent, resource }) => void (resource.startsWith("workloadspreads") && writers.add(userAgent)),
      ),
    );
    const trail = await new Trail(api, "pods", namespace).start();
    const owner = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: "it",
      uid: set.metadata.uid,
      controller: true,
    };
    /** Half of the pods are named by the server. */
    const create = async (index: number, name: string): Promise<void> => {
      const named = index % 2 === 0 ? { name } : { generateName: `${name}-` };
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...named, labels, ownerReferences: [owner] },
        spec: template.spec,
      };
      await tried(() => api.create(pod, namespace));
    };
    const place = { api, namespace };
    const isExact = async () => {
      const counts = { a: 0, b: 0, c: 0 };
      for (const pod of await api.list("pods", namespace)) {
        const subset = subsetOf(pod);
        assert.ok(subset === "a" || subset === "b" || subset === "c", `a pod in ${JSON.stringify(subset)}`);
        counts[subset]++;
      }
      assert.deepEqual(counts, { ...caps, c: pods - caps.a - caps.b });
      const rows: unknown = (await api.get(spreads, "it", namespace)).status?.["subsetStatuses"];
      assert.deepEqual(rows, [
        { name: "a", replicas: caps.a, missingReplicas: 0 },
        { name: "b", replicas: caps.b, missingReplicas: 0 },
        { name: "c", replicas: counts.c, missingReplicas: -1 },
      ]);
    };
    await Promise.all(Array.from({ length: pods }, (_, index) => create(index, `it-${index}`)));
    await reached(place, isExact, "its pods");
    t.strictSame(mostOf(await trail.stop()), caps, "no subset ever had more than its cap");
    const random = seededRandom(14);
    const leaving = (await api.list("pods", namespace)).filter(() => random() < 0.4);
    const next = await new Trail(api, "pods", namespace).start();
    await Promise.all(
      leaving.map(async ({ metadata }, index) => {
        await tried(() => api.remove("pods", metadata.name, namespace));
        await create(index, `again-${index}`);
      }),
    );
    await reached(place, isExact, "its pods once more");
    t.strictSame(mostOf(await next.stop(), leaving), caps, "nor did one while pods were replaced");
    t.ok(
      ["webhook-1/", "webhook-2/", "webhook-3/"].every((replica) => writers.has(replica)),
      `${[...writers]}`,
    );
  },
);
