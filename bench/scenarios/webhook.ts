/** What the manager's webhook server takes by itself: the bench asks it in the place of the API server. */
import { sidecarSetOfMany, wantsSidecars } from "../../testkit/controller/sidecar_set_builder.ts";
import { BenchError } from "../errors.ts";
import { eachInFlight } from "../in_flight.ts";
import { barePod } from "../measure/limit.ts";
import { runPhase } from "../measure/phase.ts";
import type { Phase } from "../measure/result.ts";
import { openReviewClient, podWebhook, type ReviewClient } from "../measure/review_client.ts";
import { ascending, distributionOf } from "../measure/statistics.ts";
import { BENCH_LABEL, sidecarSets } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";

export const webhook: Scenario = {
  name: "webhook",
  summary: "reviews of pod creations sent to the manager's webhook server itself, --in-flight at once",
  kinds: [],
  usualPods: 20_000,
  madePods: () => 0,
  async run(stage) {
    const client = await openReviewClient(await podWebhook(stage.client));
    const sets = stage.settings.sidecarSets;
    try {
      await createSidecarSets(stage, client, sets);
      const phases = [
        await reviews(stage, client, "warm-up", podOfCloneSet(stage)),
        await reviews(stage, client, "pod of a CloneSet", podOfCloneSet(stage)),
        await reviews(stage, client, "pod of another owner", otherPod(stage)),
      ];
      if (sets > 0) {
        phases.push(await reviews(stage, client, "pod of one SidecarSet", podWithSidecars(stage, "one")));
        phases.push(
          await reviews(stage, client, `pod of ${sets} SidecarSets`, podWithSidecars(stage, "all")),
        );
      }
      return { phases };
    } finally {
      await client.close();
    }
  },
};

const knownWithinMs = 30_000;

/** Resolves when the manager injects all of them. */
async function createSidecarSets(stage: Stage, client: ReviewClient, count: number): Promise<void> {
  if (count === 0) return;
  for (let index = 0; index < count; index++)
    await stage.client.create(
      sidecarSets,
      undefined,
      sidecarSetOfMany(`${stage.namespace}-${index}`, index, { [BENCH_LABEL]: stage.run }),
    );
  const until = stage.clock.monotonic() + knownWithinMs;
  for (;;) {
    const answer = await client.ask(reviewOf(0, stage.namespace, podWithSidecars(stage, "all")));
    const patch = Buffer.from(String(answer["patch"] ?? ""), "base64").toString("utf8");
    const list = /kruise\.io\/sidecarset-injected-list":"([^"]*)"/.exec(patch)?.[1] ?? "";
    if (list.split(",").length === count && list !== "") return;
    if (stage.clock.monotonic() > until)
      throw new BenchError(`the webhook does not inject ${count} SidecarSets but ${JSON.stringify(list)}`);
    await stage.clock.sleep(50, stage.signal);
  }
}

async function reviews(stage: Stage, client: ReviewClient, name: string, pod: object): Promise<Phase> {
  const { pods, inFlight } = stage.settings;
  const latencies: number[] = [];
  let seconds = 0;
  let changed = 0;
  const phase = await runPhase(stage, {
    name,
    pods,
    // No pod is created: what ends the phase is the last answer.
    wanted: 0,
    arrived: () => false,
    touched: () => false,
    begin: async () => {
      const started = stage.clock.monotonic();
      await eachInFlight(Array.from({ length: pods }).keys(), inFlight, async (index) => {
        stage.signal.throwIfAborted();
        const review = reviewOf(index, stage.namespace, pod);
        const sent = stage.clock.monotonic();
        const answer = await client.ask(review);
        latencies.push(stage.clock.monotonic() - sent);
        if (answer["allowed"] !== true)
          throw new BenchError(`the webhook refused a pod: ${JSON.stringify(answer["status"])}`);
        if (answer["patch"] !== undefined) changed += 1;
      });
      seconds = (stage.clock.monotonic() - started) / 1000;
    },
    clocks: () => ({ write: distributionOf(ascending(latencies), "client") }),
    facts: () => ({
      "reviews a second": Math.round(pods / seconds),
      "reviews answered with a patch": changed,
      "in flight, requests": inFlight,
    }),
  });
  const { cpuMsPerPod } = phase;
  // What the process would take with a whole core: the one figure that other work on the machine does not change.
  if (cpuMsPerPod !== undefined && cpuMsPerPod > 0)
    phase.facts["reviews a second of processor time"] = Math.round(1000 / cpuMsPerPod);
  return { ...phase, tookMs: seconds * 1000 };
}

/** As kube-apiserver 1.34 writes it. */
function reviewOf(index: number, namespace: string, pod: object): string {
  const kind = { group: "", version: "v1", kind: "Pod" };
  const resource = { group: "", version: "v1", resource: "pods" };
  const name = `bench-${index + 1}`;
  return JSON.stringify({
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name,
      namespace,
      operation: "CREATE",
      userInfo: {
        username: "system:serviceaccount:kruise-system:kruise-manager",
        groups: ["system:authenticated"],
      },
      object: pod,
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    },
  });
}

/** With what the API server has filled in before it asks. */
function otherPod({ run, namespace }: Stage) {
  const pod = barePod("bench", run, { app: "bench" });
  return {
    ...pod,
    metadata: { name: "bench", namespace, labels: { app: "bench" }, managedFields: [managedFields] },
    spec: {
      ...defaults,
      containers: ["main", "sidecar"].map((name) => ({
        name,
        image: "registry.example/app:1",
        env: Array.from({ length: 10 }, (_, index) => ({
          name: `VARIABLE_${index}`,
          value: `value ${index}`,
        })),
        resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
        volumeMounts: [
          { name: "token", readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
        ],
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
        imagePullPolicy: "IfNotPresent",
      })),
    },
    status: {},
  };
}

const defaults = {
  volumes: [
    { name: "token", projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: "token" } }] } },
  ],
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  serviceAccountName: "default",
  serviceAccount: "default",
  securityContext: {},
  schedulerName: "default-scheduler",
  tolerations: ["not-ready", "unreachable"].map((taint) => ({
    key: `node.kubernetes.io/${taint}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  })),
  priority: 0,
  enableServiceLinks: true,
  preemptionPolicy: "PreemptLowerPriority",
};

const managedFields = {
  manager: "kruise-manager",
  operation: "Update",
  apiVersion: "v1",
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:metadata": { "f:labels": { ".": {}, "f:app": {} } }, "f:spec": { "f:containers": {} } },
};

function podWithSidecars(stage: Stage, wanted: "one" | "all"): object {
  const pod = otherPod(stage);
  return { ...pod, metadata: { ...pod["metadata"], labels: { app: "bench", [wantsSidecars]: wanted } } };
}

function podOfCloneSet(stage: Stage): object {
  const pod = otherPod(stage);
  return {
    ...pod,
    metadata: {
      ...pod["metadata"],
      generateName: "bench-",
      labels: {
        app: "bench",
        "apps.kruise.io/cloneset-instance-id": "abcde",
        "controller-revision-hash": "bench-6d4f8b9c7",
        "pod-template-hash": "6d4f8b9c7",
      },
      ownerReferences: [
        {
          apiVersion: "apps.kruise.io/v1alpha1",
          kind: "CloneSet",
          name: "bench",
          uid: "11111111-1111-4111-8111-111111111111",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
  };
}
