/**
 * The agent's reconciler of ContainerRecreateRequests, as far as it comes with all that it has heard. It is started again each time
 * from its last rest, because what waits for an answer cannot be copied.
 */
import { annotations, labels } from "../../agent/containers/observe.ts";
import { type ContainerPlace, ContainerRestarter } from "../../agent/containers/restarter.ts";
import type { CriClient } from "../../agent/cri/client.ts";
import { AgentError, type AgentErrorCode } from "../../agent/errors.ts";
import { agentPods } from "../../agent/pod_watch.ts";
import type { RestartDependencies, RestartReconciler } from "../../agent/restarts/reconciler.ts";
import { RecreateRequests } from "../../agent/restarts/requests.ts";
import { StoppedContainers, type StoppedContent } from "../../agent/restarts/stopped_containers.ts";
import { objectAt, textAt } from "../../controller/native/json_fields.ts";
import type { ContainerRecreateRequest } from "../../crds/index.ts";
import type { JsonObject } from "../../kube/core/index.ts";
import { isKubeError, nullLog } from "../../kube/index.ts";
import { type AgentPod, agentPod, pickRequest } from "../../node/index.ts";
import { ContainerState, fromJson, methods } from "../../proto/cri/index.ts";
import { testClock } from "../kube/fake_clock.ts";
import { PendingRequests, type Reply, type Request } from "./pending_requests.ts";
import { type Containers, type Instance, NODE, POD, RUNTIME, type Stop, startMs } from "./recreate_state.ts";

/** Its queues: of the pod's requests, and of those that came while one is carried out. */
export type Task = "reconcile" | "acknowledge";

type News =
  /** It takes the pod from this queue. */
  | { readonly is: "turn"; readonly task: Task }
  /** Until the pod is due. */
  | { readonly is: "time" }
  | { readonly is: "request"; readonly object: ContainerRecreateRequest; readonly isGone: boolean }
  | { readonly is: "pod"; readonly pod: JsonObject | undefined }
  | { readonly is: "answer"; readonly request: Request; readonly reply: Reply }
  /** What it does on its node, or why that failed. */
  | { readonly is: "done"; readonly failed?: AgentErrorCode };

export type AgentHeard = News & { readonly now: number; readonly node: ReadonlyMap<string, Containers> };

/** `save`: into the file that outlives it. */
export type NodeCall = { readonly is: "save" } | ({ readonly is: "stop" | "start" } & Stop);

/** All that it knows while it does nothing. */
export interface AgentMemory {
  readonly requests: readonly ContainerRecreateRequest[];
  readonly pod: JsonObject | undefined;
  readonly stopped: StoppedContent;
  readonly queued: readonly Task[];
  readonly wakeAt: number | undefined;
}

export interface AgentDoing extends AgentMemory {
  readonly passing: readonly Task[];
  readonly requested: readonly Request[];
  readonly call: NodeCall | undefined;
  /** The request that it carries out, and what it saw of the pod before it decided. */
  readonly known: ContainerRecreateRequest | undefined;
  readonly looked: readonly unknown[];
}

export type MakeReconciler = (deps: RestartDependencies) => RestartReconciler;

const KEY = `ns/${POD}`;

export async function agentDoing(
  memory: AgentMemory,
  heard: readonly AgentHeard[],
  make: MakeReconciler,
): Promise<AgentDoing> {
  const agent = new HeardAgent(memory, make);
  for (const each of heard) {
    agent.hear(each);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return agent.doing;
}

class HeardAgent {
  readonly #server = new PendingRequests();
  readonly #requests: RecreateRequests;
  readonly #stopped: StoppedContainers;
  readonly #reconciler: RestartReconciler;
  readonly #signal = new AbortController().signal;
  readonly #queued: Set<Task>;
  readonly #passing = new Set<Task>();
  #saved: StoppedContent;
  #pod: JsonObject | undefined;
  #wakeAt: number | undefined;
  #now = startMs;
  #node: AgentHeard["node"] = new Map();
  #call: { readonly is: NodeCall; answer(failed?: AgentErrorCode): void } | undefined;
  #known: ContainerRecreateRequest | undefined;
  #looked: readonly unknown[] = [];

  constructor({ requests, pod, stopped, queued, wakeAt }: AgentMemory, make: MakeReconciler) {
    this.#requests = new RecreateRequests(this.#server.client);
    this.#pod = pod;
    this.#saved = stopped;
    this.#queued = new Set(queued);
    this.#wakeAt = wakeAt;
    const { cache } = this.#requests;
    for (const request of requests) cache.upsert(request);
    // As agent/restarts/feature.ts.
    cache.subscribe(({ object, type }) => {
      if (type === "removed") this.#stopped.forget(object.metadata.uid ?? "");
      this.#enqueue("reconcile");
      // Of one request alone there is none to put off.
      if (type === "added" && !object.status?.phase && cache.size > 1) this.#enqueue("acknowledge");
    });
    this.#stopped = new StoppedContainers(stopped, (content) => this.#save(content));
    this.#reconciler = make({
      clock: { ...testClock(), now: () => this.#now },
      log: nullLog,
      finder: {
        current: { client: this.#runtime, name: RUNTIME, version: "1", socket: "" },
        reason: "",
        searched: true,
      },
      settings: { nodeName: NODE },
      pods: { pod: async () => this.#look(), podNow: () => this.#podNow() },
      requests: {
        ofPod: (key) => this.#requests.ofPod(key),
        newest: async (request) => this.#knows(await this.#requests.newest(request)),
        writeStatus: async (...all) => this.#knows(await this.#requests.writeStatus(...all)),
      },
      stopped: this.#stopped,
      restarter: new Restarts((is, { pod: { uid }, container: { name, id } }) =>
        this.#ask({ is, pod: uid, container: name, id, request: this.#known?.metadata.uid ?? "" }),
      ),
    });
  }

  hear({ now, node, ...news }: AgentHeard): void {
    this.#now = now;
    this.#node = node;
    switch (news.is) {
      case "turn":
        this.#queued.delete(news.task);
        void this.#pass(news.task);
        break;
      case "time":
        this.#enqueue("reconcile");
        break;
      case "request": {
        const { name, uid = "", resourceVersion } = news.object.metadata;
        const { cache } = this.#requests;
        if (news.isGone) cache.remove(`ns/${name}`, uid, resourceVersion);
        else cache.upsert(news.object);
        break;
      }
      case "pod":
        this.#pod = news.pod;
        if (this.#requests.ofPod(KEY).length > 0) this.#enqueue("reconcile");
        break;
      case "answer":
        this.#server.answer(news.request.id, news.reply);
        break;
      case "done":
        this.#call?.answer(news.failed);
        break;
    }
  }

  get doing(): AgentDoing {
    const isCarryingOut = this.#passing.has("reconcile");
    return {
      requests: [...this.#requests.cache.values()],
      pod: this.#pod,
      stopped: this.#saved,
      queued: [...this.#queued],
      wakeAt: this.#wakeAt,
      passing: [...this.#passing],
      requested: this.#server.open,
      call: this.#call?.is,
      known: isCarryingOut ? this.#known : undefined,
      looked: isCarryingOut ? this.#looked : [],
    };
  }

  /** As kube/controller_runner.ts. */
  async #pass(task: Task): Promise<void> {
    this.#passing.add(task);
    this.#known = task === "reconcile" ? pickRequest(this.#requests.ofPod(KEY)) : this.#known;
    const passed =
      task === "reconcile"
        ? this.#reconciler.reconcile(KEY, this.#signal)
        : this.#reconciler.acknowledge(KEY);
    const againInMs = await passed.then(
      (outcome) => outcome?.requeueAfterMs,
      (error: unknown) => {
        if (isKubeError(error)) return 500;
        throw error;
      },
    );
    this.#passing.delete(task);
    if (againInMs === undefined || this.#queued.has(task)) return;
    if (againInMs === 0) this.#enqueue(task);
    else this.#wakeAt = this.#now + againInMs;
  }

  #enqueue(task: Task): void {
    this.#queued.add(task);
    if (task === "reconcile") this.#wakeAt = undefined;
  }

  #knows<T extends ContainerRecreateRequest | undefined>(request: T): T {
    if (request !== undefined && request.metadata.uid === this.#known?.metadata.uid) this.#known = request;
    return request;
  }

  /** What is added waits until it is on disk; what is forgotten does not. */
  #save(content: StoppedContent): Promise<void> {
    const isMore = JSON.stringify(content).length > JSON.stringify(this.#saved).length;
    this.#saved = content;
    return isMore ? this.#ask({ is: "save" }) : Promise.resolve();
  }

  #ask(is: NodeCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const answer = (failed?: AgentErrorCode): void => {
        this.#call = undefined;
        if (failed === undefined) resolve();
        else reject(new AgentError(failed, "the runtime says no"));
      };
      this.#call = { is, answer };
    });
  }

  #look(): AgentPod | undefined {
    const ofPod = this.#pod && textAt(objectAt(this.#pod, "metadata"), "uid");
    this.#looked = [this.#pod, [...(this.#node.get(ofPod ?? "") ?? [])], this.#now - startMs];
    return this.#pod && agentPod(this.#pod);
  }

  async #podNow(): Promise<AgentPod | undefined> {
    const ref = { namespace: "ns", name: POD };
    return this.#server.client.get(agentPods, ref).catch((error: unknown) => {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    });
  }

  /** Its calls that only look. */
  get #runtime(): CriClient {
    return {
      socket: "",
      close: () => undefined,
      call: async (method, request) => {
        const asked: JsonObject = JSON.parse(JSON.stringify(request));
        const uid = textAt(objectAt(objectAt(asked, "filter"), "label_selector"), labels.uid);
        const containers = [...this.#node].flatMap(([pod, ofPod]) =>
          [...ofPod].map(([name, instance]) => inRuntime(pod, name, instance)),
        );
        const answer =
          method.name === methods.ListContainers.name
            ? {
                containers: containers
                  .filter((one) => one.labels[labels.uid] === uid)
                  .map(({ status: _, ...listed }) => listed),
              }
            : { status: containers.find(({ id }) => id === textAt(asked, "container_id"))?.status };
        return fromJson(method.response, answer, { bytes: "text" });
      },
    };
  }
}

function inRuntime(pod: string, name: string, { id, restartCount, state, startedAt }: Instance) {
  const { CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;
  return {
    id,
    metadata: { name, attempt: restartCount },
    labels: { [labels.uid]: pod, [labels.container]: name },
    annotations: { [annotations.restartCount]: `${restartCount}` },
    status: {
      id,
      state: state === "running" ? CONTAINER_RUNNING : CONTAINER_EXITED,
      started_at: startedAt * 1e6,
    },
  };
}

type RestartCall = (is: "stop" | "start", place: ContainerPlace) => Promise<void>;

/** What it asks the runtime for is left to the world. */
class Restarts extends ContainerRestarter {
  readonly #call: RestartCall;

  constructor(call: RestartCall) {
    super({
      clock: testClock(),
      log: nullLog,
      events: { from: () => ({ event: () => undefined }) },
      agentMetrics: { killed: () => undefined },
      startedBy: "agent",
      pods: { subscribe: () => () => undefined, byUid: () => undefined },
      kubeletVersion: async () => "",
    });
    this.#call = call;
  }

  override restart(place: ContainerPlace): Promise<void> {
    return this.#call("stop", place);
  }

  override startAgain(place: ContainerPlace): Promise<void> {
    return this.#call("start", place);
  }
}
