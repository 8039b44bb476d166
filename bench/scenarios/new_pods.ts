/** What a new pod of a workload costs the API server until it is ready, with and without the webhook that it is asked about. */
import { eachInFlight } from "../in_flight.ts";
import { barePod } from "../measure/limit.ts";
import { runPhase } from "../measure/phase.ts";
import { WORKLOAD_LABEL, workloadOf } from "../measure/pod_board.ts";
import { isReady } from "../measure/pod_state.ts";
import type { Phase } from "../measure/result.ts";
import { BENCH_LABEL, podObjects, sidecarSets } from "../resources.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { unaskedNamespace } from "./admission.ts";
import { sidecarSetHead } from "./sidecar_set.ts";

export const newpods: Scenario = {
  name: "newpods",
  summary:
    "pods with an owner of this API, from creation to ready by the bench's own writes, without the webhook and through it",
  kinds: [],
  async run(stage) {
    const owner = await makeOwner(stage);
    const bare = await unaskedNamespace(stage);
    return {
      phases: [
        await readyPhase(stage, owner, { name: "warm-up", namespace: stage.namespace }),
        await readyPhase(stage, owner, { name: "without webhook", namespace: bare }),
        await readyPhase(stage, owner, { name: "through webhook", namespace: stage.namespace }),
      ],
    };
  },
};

interface Owner {
  readonly name: string;
  readonly uid: string;
}

/** Controls the pods and does nothing with them: it selects none. */
async function makeOwner({ client, namespace: name, run }: Stage): Promise<Owner> {
  const { metadata } = await client.create(sidecarSets, undefined, {
    ...sidecarSetHead(name, { [BENCH_LABEL]: run }),
    spec: {
      selector: { matchLabels: { [BENCH_LABEL]: "none" } },
      containers: [{ name: "none", image: "none" }],
    },
  });
  return { name, uid: metadata.uid ?? "" };
}

function readyPhase(
  stage: Stage,
  owner: Owner,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Promise<Phase> {
  const { client, run, signal, settings } = stage;
  const workload = name.replace(" ", "-");
  return runPhase(stage, {
    name,
    pods: settings.pods,
    begin: () =>
      eachInFlight(Array.from({ length: settings.pods }).keys(), settings.inFlight, async (index) => {
        const pod = ownedPod(`${workload}-${index + 1}`, run, workload, owner);
        await client.create(podObjects, namespace, pod);
        const ref = { namespace, name: pod.metadata.name };
        for (const body of reports(stage.clock.now())) {
          signal.throwIfAborted();
          await client.patch(podObjects, ref, { type: "strategic", body }, { subresource: "status" });
        }
      }),
    arrived: (pod) => workloadOf(pod) === workload && isReady(pod),
    touched: () => true,
  });
}

function ownedPod(name: string, run: string, workload: string, { name: owner, uid }: Owner) {
  const { metadata, spec, ...pod } = barePod(name, run, { [WORKLOAD_LABEL]: workload });
  const apiVersion = "apps.kruise.io/v1beta1";
  const ownerReferences = [{ apiVersion, kind: "SidecarSet", name: owner, uid, controller: true }];
  const containers = spec.containers.map((container) => ({ ...container, ...usualFields }));
  return { ...pod, metadata: { ...metadata, ownerReferences }, spec: { ...spec, containers } };
}

/** What templates say of a container: each field is tracked. */
const usualFields = {
  ports: [{ name: "http", containerPort: 8080 }],
  env: Array.from({ length: 5 }, (_, index) => ({ name: `VARIABLE_${index}`, value: `value ${index}` })),
  resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
  readinessProbe: { httpGet: { path: "/ready", port: "http" } },
};

/** What a controller, a scheduler and, twice, a kubelet write of a new pod. `now`: milliseconds since the epoch. */
function reports(now: number): readonly object[] {
  const lastTransitionTime = new Date(now).toISOString();
  const conditions = (status: "True" | "False", ...types: readonly string[]) =>
    types.map((type) => ({ type, status, lastTransitionTime }));
  const container = (ready: boolean, state: object) => [
    { name: "main", image: "registry.example/app:1", imageID: "", ready, restartCount: 0, state },
  ];
  return [
    { status: { conditions: conditions("True", "KruisePodReady", "InPlaceUpdateReady") } },
    { status: { conditions: conditions("True", "PodScheduled") } },
    {
      status: {
        conditions: conditions("False", "Initialized", "ContainersReady", "Ready"),
        containerStatuses: container(false, { waiting: { reason: "ContainerCreating" } }),
      },
    },
    {
      status: {
        phase: "Running",
        conditions: conditions("True", "Initialized", "ContainersReady", "Ready"),
        containerStatuses: container(true, { running: { startedAt: lastTransitionTime } }),
      },
    },
  ];
}
