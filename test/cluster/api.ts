/**
 * A plain JSON client for tests: what `kubectl` would send, over HTTPS, and nothing of the project's own client,
 * so that the tests cover that client too.
 */
import { readFileSync } from "node:fs";
import { Agent, type Dispatcher, interceptors, request } from "undici";
import { parse } from "yaml";

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface Container {
  name: string;
  image: string;
  imagePullPolicy?: string;
  env?: { name: string; value?: string }[];
  resources?: Resources;
}

export interface Resources {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  restartCount: number;
  resources?: Resources;
  state?: { running?: { startedAt: string }; waiting?: { reason?: string; message?: string } };
  lastState?: { terminated?: { finishedAt: string } };
}

/** What the suites read of an object of any kind; fields that a kind lacks are absent. */
export interface Item {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: Spec;
  status?: Status;
  data?: unknown;
  /** ControllerRevision. */
  revision?: number;
  [other: string]: unknown;
}

export interface Spec {
  replicas?: number;
  nodeName?: string;
  containers?: Container[];
  readinessGates?: { conditionType: string }[];
  template?: { metadata?: Partial<Metadata>; spec?: Spec };
  scaleStrategy?: Record<string, unknown>;
  updateStrategy?: Record<string, unknown>;
  [other: string]: unknown;
}

export interface Status {
  phase?: string;
  podIP?: string;
  conditions?: Condition[];
  containerStatuses?: ContainerStatus[];
  currentRevision?: string;
  updateRevision?: string;
  labelSelector?: string;
  observedGeneration?: number;
  replicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  updatedReplicas?: number;
  updatedReadyReplicas?: number;
  updatedAvailableReplicas?: number;
  expectedUpdatedReplicas?: number;
  collisionCount?: number;
  [other: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A refused request: `status` is the HTTP code, the message is the server's. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export type PatchType = "json" | "merge" | "strategic";

export interface WatchEvent {
  type: string;
  object: Item;
}

/** Names a resource as kubectl does: `pods`, `clonesets`, `clonesets.v1alpha1.apps.kruise.io`. */
export type ResourceName = string;

export interface Api {
  readonly url: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(resource: ResourceName, name: string, namespace?: string, subresource?: string): Promise<Item>;
  /** Undefined when the server says 404. */
  find(resource: ResourceName, name: string, namespace?: string): Promise<Item | undefined>;
  list(resource: ResourceName, namespace?: string, labelSelector?: string): Promise<Item[]>;
  /** The list with the version from which a watch shows what comes after it. */
  listWithVersion(
    resource: ResourceName,
    namespace?: string,
    labelSelector?: string,
  ): Promise<{ items: Item[]; version: string }>;
  create(manifest: object, namespace?: string, query?: string): Promise<Item>;
  patch(
    resource: ResourceName,
    name: string,
    namespace: string | undefined,
    type: PatchType,
    body: unknown,
    subresource?: string,
  ): Promise<Item>;
  remove(resource: ResourceName, name: string, namespace?: string, options?: object): Promise<void>;
  /** Events of all objects that match, from now on or from `resourceVersion`; ends with the signal. */
  watch(
    resource: ResourceName,
    namespace: string | undefined,
    options: { labelSelector?: string; resourceVersion?: string; signal: AbortSignal },
  ): AsyncIterable<WatchEvent>;
  table(resource: ResourceName, namespace?: string, labelSelector?: string): Promise<Table>;
  close(): Promise<void>;
}

export interface Table {
  columnDefinitions: { name: string; type: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

const groupsOfPlurals: Readonly<Record<string, string>> = {
  clonesets: "apps.kruise.io/v1beta1",
  statefulsets: "apps.kruise.io/v1beta1",
  daemonsets: "apps.kruise.io/v1beta1",
  uniteddeployments: "apps.kruise.io/v1beta1",
  broadcastjobs: "apps.kruise.io/v1beta1",
  advancedcronjobs: "apps.kruise.io/v1beta1",
  imagepulljobs: "apps.kruise.io/v1beta1",
  imagelistpulljobs: "apps.kruise.io/v1beta1",
  nodeimages: "apps.kruise.io/v1beta1",
  controllerrevisions: "apps/v1",
  deployments: "apps/v1",
  replicasets: "apps/v1",
  leases: "coordination.k8s.io/v1",
  customresourcedefinitions: "apiextensions.k8s.io/v1",
  mutatingwebhookconfigurations: "admissionregistration.k8s.io/v1",
  validatingwebhookconfigurations: "admissionregistration.k8s.io/v1",
};

const clusterScoped = new Set([
  "nodes",
  "namespaces",
  "persistentvolumes",
  "customresourcedefinitions",
  "mutatingwebhookconfigurations",
  "validatingwebhookconfigurations",
  "clusterroles",
  "clusterrolebindings",
  "sidecarsets",
  "nodeimages",
  "nodepodprobes",
  "resourcedistributions",
]);

const pluralsOfKinds: Readonly<Record<string, string>> = {
  Ingress: "ingresses",
  UnitedDeployment: "uniteddeployments",
  CustomResourceDefinition: "customresourcedefinitions",
};

function pathOf(resource: ResourceName, namespace?: string): string {
  const [plural = "", version, ...group] = resource.split(".");
  const groupVersion =
    version === undefined ? (groupsOfPlurals[plural] ?? "v1") : `${group.join(".")}/${version}`;
  return pathIn(groupVersion, plural, namespace);
}

function pathIn(groupVersion: string, plural: string, namespace?: string): string {
  const root = groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
  return namespace === undefined || clusterScoped.has(plural)
    ? `${root}/${plural}`
    : `${root}/namespaces/${namespace}/${plural}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The server's objects have the shape that its API documents; only their envelope is checked here. */
function isItem(value: unknown): value is Item {
  return isRecord(value) && isRecord(value["metadata"]);
}

/** Throws for what has no metadata. */
export function asItem(value: unknown): Item {
  if (!isItem(value)) throw new Error(`not an object of the API: ${JSON.stringify(value).slice(0, 200)}`);
  return value;
}

function isTable(value: unknown): value is Table {
  return isRecord(value) && Array.isArray(value["columnDefinitions"]);
}

interface Kubeconfig {
  clusters: { name: string; cluster: Record<string, string> }[];
  users: { name: string; user: Record<string, string> }[];
  contexts: { name: string; context: { cluster: string; user: string } }[];
  "current-context": string;
}

function isKubeconfig(value: unknown): value is Kubeconfig {
  return (
    isRecord(value) &&
    Array.isArray(value["clusters"]) &&
    Array.isArray(value["users"]) &&
    Array.isArray(value["contexts"])
  );
}

/** Whoever reads while a definition changes is asked to come again; of a write the same answer may be what a suite looks at. */
function patientReads(): Dispatcher.DispatcherComposeInterceptor {
  return interceptors.retry({
    methods: ["GET"],
    statusCodes: [429],
    errorCodes: [],
    maxRetries: 20,
    throwOnError: false,
  });
}

/** Reads the parts of a kubeconfig that the test clusters and the sandbox write: embedded or named files, or a token. */
export function connect(kubeconfigFile: string): Api {
  const config: unknown = parse(readFileSync(kubeconfigFile, "utf8"));
  if (!isKubeconfig(config)) throw new Error(`${kubeconfigFile} is not a kubeconfig`);
  const context = config.contexts.find((entry) => entry.name === config["current-context"])?.context;
  const cluster = config.clusters.find((entry) => entry.name === context?.cluster)?.cluster ?? {};
  const user = config.users.find((entry) => entry.name === context?.user)?.user ?? {};
  const material = (from: Record<string, string>, name: string): Buffer | undefined => {
    const data = from[`${name}-data`];
    if (data !== undefined) return Buffer.from(data, "base64");
    const file = from[name];
    return file === undefined ? undefined : readFileSync(file);
  };
  const ca = material(cluster, "certificate-authority");
  const cert = material(user, "client-certificate");
  const key = material(user, "client-key");
  const connections = new Agent({
    connect: { ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) },
    bodyTimeout: 0,
    headersTimeout: 90_000,
    // Node's HTTP/2 was seen to send frames of one stream without end on a busy machine, until all memory was taken.
    allowH2: false,
    // A suite that creates a thousand objects at once is not to open as many connections.
    connections: 48,
  });
  const agent = connections.compose(patientReads());
  const token = user["token"];
  return new HttpApi(
    cluster["server"] ?? "",
    agent,
    token === undefined ? {} : { authorization: `Bearer ${token}` },
  );
}

const patchTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

class HttpApi implements Api {
  readonly url: string;
  readonly #agent: Dispatcher;
  readonly #headers: Record<string, string>;

  constructor(url: string, agent: Dispatcher, headers: Record<string, string>) {
    this.url = url.replace(/\/$/, "");
    this.#agent = agent;
    this.#headers = headers;
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await request(this.url + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...this.#headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    let parsed: unknown = text;
    try {
      parsed = JSON.parse(text);
    } catch {
      // Health endpoints answer in plain text.
    }
    return { status: answer.statusCode, body: parsed };
  }

  async #ok(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<unknown> {
    const answer = await this.request(method, path, body, headers);
    if (answer.status < 400) return answer.body;
    const status = isRecord(answer.body) ? answer.body : {};
    throw new ApiError(
      answer.status,
      String(status["reason"] ?? ""),
      String(status["message"] ?? answer.body),
    );
  }

  async get(resource: ResourceName, name: string, namespace?: string, subresource?: string): Promise<Item> {
    const tail = subresource === undefined ? "" : `/${subresource}`;
    return asItem(await this.#ok("GET", `${pathOf(resource, namespace)}/${name}${tail}`));
  }

  async find(resource: ResourceName, name: string, namespace?: string): Promise<Item | undefined> {
    try {
      return await this.get(resource, name, namespace);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async list(resource: ResourceName, namespace?: string, labelSelector?: string): Promise<Item[]> {
    return (await this.listWithVersion(resource, namespace, labelSelector)).items;
  }

  async listWithVersion(
    resource: ResourceName,
    namespace?: string,
    labelSelector?: string,
  ): Promise<{ items: Item[]; version: string }> {
    const query = labelSelector === undefined ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
    const list = await this.#ok("GET", pathOf(resource, namespace) + query);
    const items = isRecord(list) ? list["items"] : undefined;
    const metadata = isRecord(list) ? list["metadata"] : undefined;
    if (!Array.isArray(items) || !isRecord(metadata)) throw new Error(`list of ${resource} has no items`);
    return { items: items.map(asItem), version: String(metadata["resourceVersion"] ?? "") };
  }

  async create(manifest: object, namespace?: string, query = ""): Promise<Item> {
    const { apiVersion, kind } = { apiVersion: "", kind: "", ...manifest };
    const plural = pluralsOfKinds[kind] ?? `${kind.toLowerCase()}s`;
    return asItem(await this.#ok("POST", pathIn(apiVersion, plural, namespace) + query, manifest));
  }

  async patch(
    resource: ResourceName,
    name: string,
    namespace: string | undefined,
    type: PatchType,
    body: unknown,
    subresource?: string,
  ): Promise<Item> {
    const tail = subresource === undefined ? "" : `/${subresource}`;
    return asItem(
      await this.#ok("PATCH", `${pathOf(resource, namespace)}/${name}${tail}`, body, {
        "content-type": patchTypes[type],
      }),
    );
  }

  async remove(resource: ResourceName, name: string, namespace?: string, options?: object): Promise<void> {
    await this.#ok("DELETE", `${pathOf(resource, namespace)}/${name}`, options);
  }

  async *watch(
    resource: ResourceName,
    namespace: string | undefined,
    options: { labelSelector?: string; resourceVersion?: string; signal: AbortSignal },
  ): AsyncGenerator<WatchEvent> {
    const query = new URLSearchParams({ watch: "true" });
    if (options.labelSelector !== undefined) query.set("labelSelector", options.labelSelector);
    if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
    try {
      const answer = await request(`${this.url}${pathOf(resource, namespace)}?${query}`, {
        dispatcher: this.#agent,
        headers: { accept: "application/json", ...this.#headers },
        signal: options.signal,
      });
      if (answer.statusCode !== 200) throw new ApiError(answer.statusCode, "", await answer.body.text());
      let rest = "";
      answer.body.setEncoding("utf8");
      for await (const chunk of answer.body) {
        const lines = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (line.trim() === "") continue;
          const event: unknown = JSON.parse(line);
          if (!isRecord(event)) continue;
          yield { type: String(event["type"]), object: asItem(event["object"]) };
        }
      }
    } catch (error) {
      if (!options.signal.aborted) throw error;
    }
  }

  async table(resource: ResourceName, namespace?: string, labelSelector?: string): Promise<Table> {
    const query = labelSelector === undefined ? "" : `?labelSelector=${encodeURIComponent(labelSelector)}`;
    const body = await this.#ok("GET", pathOf(resource, namespace) + query, undefined, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    });
    if (!isTable(body)) throw new Error(`the server did not print ${resource} as a table`);
    return body;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
