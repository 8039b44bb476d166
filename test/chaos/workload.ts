/** What people run on the cluster, all of it at once, and how they change it. */
import { type Chance, object, selector } from "../../simulation/index.ts";
import type { HollowNodesFixture } from "../../testkit/bench/hollow_nodes_fixture.ts";
import type { Api } from "../cluster/api.ts";

export const namespace = "blue";
const apps = "apps.kruise.io";
const group = { group: "simulated" };
const merge = { "content-type": "application/merge-patch+json" };

interface Made {
  readonly path: string;
  readonly manifest: object;
}

export class Workload {
  readonly #api: Api;
  readonly #nodes: HollowNodesFixture;
  #round = 1;

  constructor(api: Api, nodes: HollowNodesFixture) {
    this.#api = api;
    this.#nodes = nodes;
  }

  async create(): Promise<void> {
    await this.#ask("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    for (const made of [...this.#all(), this.#job()]) await this.#create(made);
  }

  /** New images for all, another scale for some, a job on each node. */
  async change(chance: Chance): Promise<void> {
    this.#round += 1;
    const web = { replicas: chance.whole(16, 22), ...this.#imageOf("web") };
    await Promise.all([
      this.#patch("clonesets/web", web),
      this.#patch("clonesets/staged", this.#imageOf("staged")),
      this.#patch("statefulsets/db", { replicas: chance.whole(4, 7), ...this.#imageOf("db") }),
      this.#patch("daemonsets/log", this.#imageOf("log")),
      this.#ask("PATCH", `/apis/${apps}/v1alpha1/sidecarsets/side`, {
        spec: { containers: this.#sidecars() },
      }),
      this.#create(this.#job()),
    ]);
  }

  /** Nobody but its CloneSet and its budget has a say in `web`, so that one pod too many shows. */
  #all(): Made[] {
    const pods = (name: string, labels: object = {}) => ({
      metadata: { labels: { ...this.#nodes.labels, app: name, ...labels } },
      spec: {
        ...this.#nodes.podSpec(`${name}:${this.#round}`),
        terminationGracePeriodSeconds: 1,
        ...(name === "db" ? { readinessGates: [{ conditionType: "InPlaceUpdateReady" }] } : {}),
      },
    });
    const make = (plural: string, kind: string, name: string, spec: object, version = "v1beta1") =>
      object(`${apps}/${version}`, plural, kind, { namespace, name }, spec, () => ({}));
    const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
    return [
      make(
        "clonesets",
        "CloneSet",
        "web",
        {
          replicas: 20,
          selector: selector("web"),
          template: pods("web"),
          updateStrategy: { type: "InPlaceIfPossible", maxUnavailable: 3 },
        },
        "v1alpha1",
      ),
      make(
        "clonesets",
        "CloneSet",
        "staged",
        {
          replicas: 8,
          selector: selector("staged"),
          template: pods("staged", group),
          updateStrategy: { type: "ReCreate", maxUnavailable: 2, partition: 3 },
        },
        "v1alpha1",
      ),
      make("statefulsets", "StatefulSet", "db", {
        replicas: 5,
        serviceName: "db",
        selector: selector("db"),
        podManagementPolicy: "Parallel",
        template: pods("db", group),
        ...rolling({ podUpdatePolicy: "InPlaceIfPossible", maxUnavailable: 2 }),
      }),
      make(
        "daemonsets",
        "DaemonSet",
        "log",
        {
          selector: selector("log"),
          template: pods("log"),
          ...rolling({ rollingUpdateType: "InPlaceIfPossible", maxUnavailable: 2 }),
        },
        "v1alpha1",
      ),
      object(
        `${apps}/v1alpha1`,
        "sidecarsets",
        "SidecarSet",
        { name: "side" },
        {
          namespace,
          selector: { matchLabels: group },
          containers: this.#sidecars(),
          updateStrategy: { type: "RollingUpdate", maxUnavailable: 3 },
        },
        () => ({}),
      ),
      object(
        "policy.kruise.io/v1alpha1",
        "podunavailablebudgets",
        "PodUnavailableBudget",
        { namespace, name: "budget-web" },
        {
          targetRef: { apiVersion: `${apps}/v1alpha1`, kind: "CloneSet", name: "web" },
          maxUnavailable: 4,
        },
        () => ({}),
      ),
    ];
  }

  #job(): Made {
    const spec = { ...this.#nodes.podSpec(`job:${this.#round}`), restartPolicy: "Never" };
    return object(
      `${apps}/v1alpha1`,
      "broadcastjobs",
      "BroadcastJob",
      { namespace, name: `job-${this.#round}` },
      {
        parallelism: 2,
        template: {
          metadata: { labels: this.#nodes.labels, annotations: { "sandbox.refit.dev/exit": "0@2s" } },
          spec,
        },
        completionPolicy: { type: "Always" },
      },
      () => ({}),
    );
  }

  #sidecars(): object[] {
    return [{ name: "side", image: `side:${this.#round}` }];
  }

  #imageOf(name: string): object {
    return { template: { spec: this.#nodes.podSpec(`${name}:${this.#round}`) } };
  }

  async #create({ path, manifest }: Made): Promise<void> {
    await this.#ask("POST", path.slice(0, path.lastIndexOf("/")), manifest);
  }

  async #patch(below: string, spec: object): Promise<void> {
    const version = below.startsWith("statefulsets") ? "v1beta1" : "v1alpha1";
    await this.#ask("PATCH", `/apis/${apps}/${version}/namespaces/${namespace}/${below}`, { spec });
  }

  async #ask(method: string, path: string, body: object): Promise<void> {
    const headers = { "user-agent": "person", ...(method === "PATCH" ? merge : {}) };
    const answer = await this.#api.request(method, path, body, headers);
    if (answer.status >= 400)
      throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
}
